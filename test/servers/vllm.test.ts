/** vLLM on processors, with a tiny Llama of random weights. */
import { join } from "node:path";
import { COMMON_BODIES } from "./bodies.ts";
import { type Command, ModelServer } from "./model-server.ts";
import { folderOf, pythonOf } from "./parts.ts";
import { testServer } from "./server-tests.ts";

const PART = "vllm";
const SLOTS = 4;

const WORDS = `--served-model-name text --host 127.0.0.1 --dtype float32 --max-model-len 8192 --enforce-eager
  --max-num-seqs ${SLOTS}`;

const serve = (port: number): Command => [
  pythonOf(PART),
  // Its command `vllm` asks for the version of a package that is not this one.
  "-m",
  "vllm.entrypoints.openai.api_server",
  "--model",
  join(folderOf(PART), "tiny"),
  "--port",
  String(port),
  ...WORDS.split(/\s+/),
  // What is in a cache depends on the calls before, and with it the counts of an answer.
  "--no-enable-prefix-caching",
  "--enable-auto-tool-choice",
  "--tool-call-parser",
  "hermes",
];

const ENV = {
  // Gigabytes; its default is a part of the machine's memory.
  VLLM_CPU_KVCACHE_SPACE: "1",
  VLLM_CPU_OMP_THREADS_BIND: "nobind",
  OMP_NUM_THREADS: "1",
  HF_HUB_OFFLINE: "1",
  VLLM_NO_USAGE_STATS: "1",
};

testServer({
  name: "vLLM",
  start: async () => await ModelServer.started(serve, ENV),
  model: "text",
  slots: SLOTS,
  callsTools: true,
  metrics: {
    input: "vllm:prompt_tokens_total",
    output: "vllm:generation_tokens_total",
    running: "vllm:num_requests_running",
  },
  bodies: [
    ...COMMON_BODIES,
    { name: "tokenize", path: "/tokenize", body: { prompt: "a b" } },
    { name: "detokenize", path: "/detokenize", body: { tokens: [10, 11] } },
    { name: "embeddings, which it does not make", path: "/v1/embeddings", body: { input: "a" } },
    { name: "rerank, which it does not do", path: "/v1/rerank", body: { query: "a", documents: ["b"] } },
    { name: "score, which it does not do", path: "/score", body: { text_1: "a", text_2: "b" } },
    { name: "pooling, which it does not do", path: "/pooling", body: { input: "a" } },
    { name: "classify, which it does not do", path: "/classify", body: { input: "a" } },
  ],
});
