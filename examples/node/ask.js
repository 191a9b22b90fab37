// Asks a running service from Node: node ask.js ADDRESS INDEX QUESTION [PRINCIPAL]
// The protos are read as they are; no code is generated.
const path = require("node:path");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const protos = path.join(__dirname, "..", "..", "protos");
const definition = loader.loadSync("contextassembler/v1/context_assembler_service.proto", {
  includeDirs: [protos],
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: true,
});
const { contextassembler } = grpc.loadPackageDefinition(definition);

const [address, index, question, principal] = process.argv.slice(2);
const client = new contextassembler.v1.ContextAssemblerService(
  address,
  grpc.credentials.createInsecure(),
);
const request = {
  queries: [{ text: question }],
  targets: [{ index, scope: principal ? { principals: { values: [principal] } } : {} }],
  budget: { tokenizer: "o200k_base", context_tokens: 512 },
};
client.AssembleContext(request, { deadline: Date.now() + 10000 }, (error, reply) => {
  if (error) {
    console.error(`${grpc.status[error.code]}: ${error.details}`);
    process.exit(1);
  }
  const { context, passages, budget } = reply.context;
  console.log(context);
  console.log();
  for (const passage of passages) {
    console.log(passage.marker, passage.sources.map((source) => source.source_id).join(", "));
  }
  console.log(`${budget.context_tokens} of ${budget.limit_tokens} tokens`);
  client.close();
});
