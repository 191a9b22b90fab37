"""
Our error tree:

* ContextAssemblerError
  x InvalidRequest
    + FieldNotSupported
    + QueryTooLong
    + FilterFieldUnknown
    + WindowLeavesNothing
    + MustIncludeTooLarge
  x RequestUndecodable
  x NotFound
    + IndexUnknown
    + TokenizerUnknown
    + VersionUnknown
    + VersionGone
    + SourceUnknown
    + ProfileUnknown
  x IndexUnusable
  x CredentialsInvalid
  x TenantDenied
  x PrincipalsDenied
  x Unavailable
    + IndexUnavailable
    + EmbedderUnavailable
    + RerankerUnavailable
    + IndexBehind
  x Overloaded
  x DeadlineExceeded

`server/status.py` has the table from these to gRPC codes; anything else is a bug.
"""

from __future__ import annotations

from typing import ClassVar


class ContextAssemblerError(Exception):
    """
    Something the caller or the operator can understand and act on.
    """

    @property
    def facts(self) -> dict[str, str]:
        """
        Return the error's numbers and names, keyed in snake_case with their unit.
        """
        return {}


class InvalidRequest(ContextAssemblerError):
    """
    A field of the request is missing, malformed or out of range.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field, self.problem = field, problem

    @property
    def facts(self) -> dict[str, str]:
        """
        Return the field's path.
        """
        return {"field": self.field}


class FieldNotSupported(InvalidRequest):
    """
    A field of the contract is set whose behaviour this release does not have.
    """


class QueryTooLong(InvalidRequest):
    """
    A query has more tokens than the embedding model takes.
    """

    def __init__(self, position: int, *, tokens: int, most: int) -> None:
        super().__init__(
            f"queries[{position}].text",
            f"has {tokens} tokens of the embedding model, which takes {most}; shorten it, split "
            "it, or send a vector",
        )
        self.position, self.tokens, self.most = position, tokens, most


class FilterFieldUnknown(InvalidRequest):
    """
    A filter names a field that the index schema does not declare, or uses it with another type.
    """


class WindowLeavesNothing(InvalidRequest):
    """
    The prompt window less the reserved output and the frame leaves no token for the context.
    """

    def __init__(self, field: str, *, window: int, reserved: int, frame: int) -> None:
        left = window - reserved - frame
        super().__init__(
            field,
            f"window of {window} tokens - {reserved} reserved for output - {frame} of the frame "
            f"leaves {left}; enlarge the window, reserve less or shorten the frame",
        )
        self.window, self.reserved, self.frame = window, reserved, frame

    @property
    def facts(self) -> dict[str, str]:
        """
        Return the arithmetic.
        """
        return {
            "field": self.field,
            "window_tokens": str(self.window),
            "reserved_output_tokens": str(self.reserved),
            "frame_tokens": str(self.frame),
        }


class MustIncludeTooLarge(InvalidRequest):
    """
    The pinned passages alone do not fit the limit.
    """

    def __init__(self, *, needed: int, limit: int) -> None:
        super().__init__(
            "must_include",
            f"the pinned passages need {needed} tokens, the limit is {limit}; pin less or raise "
            "the budget",
        )
        self.needed, self.limit = needed, limit

    @property
    def facts(self) -> dict[str, str]:
        """
        Return the arithmetic.
        """
        return {"needed_tokens": str(self.needed), "limit_tokens": str(self.limit)}


class RequestUndecodable(ContextAssemblerError):
    """
    The bytes are not a message of the method.
    """


class NotFound(ContextAssemblerError):
    """
    Something the request names does not exist here.
    """

    kind: ClassVar[str]
    problem: ClassVar[str] = "is not known"

    def __init__(self, name: str, known: tuple[str, ...] = ()) -> None:
        there = f"; there are: {', '.join(known)}" if known else ""
        super().__init__(f"{self.kind} {name!r} {self.problem}{there}")
        self.name, self.known = name, known

    @property
    def facts(self) -> dict[str, str]:
        """
        Return what was asked for.
        """
        return {self.kind.replace(" ", "_"): self.name}


class IndexUnknown(NotFound):
    """
    No index has this name.
    """

    kind = "index"


class TokenizerUnknown(NotFound):
    """
    No tokenizer file has this name; there is never a silent substitute.
    """

    kind = "tokenizer"


class ProfileUnknown(NotFound):
    """
    No profile has this name.
    """

    kind = "profile"


class SourceUnknown(NotFound):
    """
    No source with this id is visible in the scope.
    """

    kind = "source"


class VersionUnknown(NotFound):
    """
    A pinned version was never published.
    """

    kind = "version"


class VersionGone(NotFound):
    """
    The version or revision was collected, purged, replaced or rolled back, or never was.
    """

    kind, problem = "version", "cannot be read, any more or at all"


class IndexUnusable(ContextAssemblerError):
    """
    The index cannot serve this request: another model or dimension, or damaged files.
    """

    def __init__(self, index: str, problem: str) -> None:
        super().__init__(f"index {index!r}: {problem}")
        self.index, self.problem = index, problem

    @property
    def facts(self) -> dict[str, str]:
        """
        Return the index.
        """
        return {"index": self.index}


class CredentialsInvalid(ContextAssemblerError):
    """
    The call carries no credentials, or wrong ones.
    """


class TenantDenied(ContextAssemblerError):
    """
    The credentials do not name the tenant, whether it exists or not.
    """


class PrincipalsDenied(ContextAssemblerError):
    """
    The credentials may not say on whose behalf they ask.
    """


class Unavailable(ContextAssemblerError):
    """
    A dependency could not be asked; trying again may help.
    """

    def __init__(self, problem: str, *, retry_seconds: float = 1.0) -> None:
        super().__init__(problem)
        self.retry_seconds = retry_seconds


class IndexUnavailable(Unavailable):
    """
    The index could not be asked.
    """


class EmbedderUnavailable(Unavailable):
    """
    The embedding model could not be asked.
    """


class RerankerUnavailable(Unavailable):
    """
    The reranker could not be asked.
    """


class IndexBehind(Unavailable):
    """
    The index has not reached the version that the request asks at least for.
    """


class Overloaded(ContextAssemblerError):
    """
    The service has as much work as it accepts.
    """

    def __init__(self, problem: str, *, retry_seconds: float = 1.0) -> None:
        super().__init__(problem)
        self.retry_seconds = retry_seconds


class DeadlineExceeded(ContextAssemblerError):
    """
    The caller's time ran out before the context was ready.
    """
