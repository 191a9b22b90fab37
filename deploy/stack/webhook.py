"""
What alerts are sent to, and what is told on the way.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer


def say(text: str) -> None:
    """
    Tell what happens, with the time.
    """
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


class Webhook:
    """
    Hears alerts as they begin and end.
    """

    def __init__(self, port: int) -> None:
        self.heard: list[tuple[str, str]] = []
        heard = self.heard

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = json.loads(self.rfile.read(int(self.headers["content-length"])))
                for one in content["alerts"]:
                    heard.append((one["labels"]["alertname"], one["status"]))
                    say(
                        f"alert {one['labels']['alertname']} {one['status']}: "
                        f"{one['annotations'].get('summary')}"
                    )
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
