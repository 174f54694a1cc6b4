/** llama.cpp's server with a tiny Llama of random weights. */
import { join } from "node:path";
import { COMMON_BODIES } from "./bodies.ts";
import { ModelServer } from "./model-server.ts";
import { folderOf, pythonOf } from "./parts.ts";
import { testServer } from "./server-tests.ts";

const PART = "llama.cpp";
const messages = [{ role: "user", content: "a b c" }];
const infill = { input_prefix: "a", input_suffix: "b", n_predict: 4 };

const start = async (use: "text" | "embedding"): Promise<ModelServer> =>
  await ModelServer.started((port) => [
    pythonOf(PART),
    join(import.meta.dirname, "llama_server.py"),
    join(folderOf(PART), "tiny.gguf"),
    String(port),
    use,
  ]);

const metrics = {
  input: "llamacpp:prompt_tokens_total",
  output: "llamacpp:tokens_predicted_total",
  running: "llamacpp:requests_processing",
};

testServer({
  name: "llama.cpp's server",
  start: async () => await start("text"),
  model: "text",
  slots: 4,
  // It reports the tokens of one answer only.
  reportsLess: ["chat: two choices", "chat: a stream of two choices", "completion: several prompts"],
  metrics,
  bodies: [
    ...COMMON_BODIES,
    { name: "responses: counted", path: "/v1/responses/input_tokens", body: { input: "a b" } },
    { name: "tokenize", path: "/tokenize", body: { content: "a b" } },
    { name: "detokenize", path: "/detokenize", body: { tokens: [260, 261] } },
    { name: "apply-template", path: "/apply-template", body: { messages } },
    { name: "its own completion", path: "/completion", body: { prompt: "a", n_predict: 4, temperature: 0 } },
    { name: "its own completion: a stream", path: "/completion", body: { prompt: "a", n_predict: 4, stream: true } },
    { name: "infill, for which the model has no tokens", path: "/infill", body: infill },
    { name: "embeddings, which it does not make", path: "/v1/embeddings", body: { input: "a" } },
    { name: "rerank, which it does not do", path: "/v1/rerank", body: { query: "a", documents: ["b"] } },
  ],
});

testServer({
  name: "llama.cpp's server of embeddings",
  start: async () => await start("embedding"),
  model: "embedding",
  slots: null,
  metrics,
  bodies: [
    { name: "one text", path: "/v1/embeddings", body: { input: "a b" } },
    { name: "several texts", path: "/v1/embeddings", body: { input: ["a", "b c", "€"] } },
    { name: "token ids", path: "/v1/embeddings", body: { input: [1, 261, 262] } },
    { name: "base64", path: "/v1/embeddings", body: { input: "a", encoding_format: "base64" } },
    { name: "no input", path: "/v1/embeddings", body: {} },
  ],
});
