/** The routes that lines may call: those that take JSON and answer with JSON. */
export const BATCH_ENDPOINTS = [
  "/v1/chat/completions",
  "/v1/completions",
  "/v1/responses",
  "/v1/messages",
  "/v1/embeddings",
  "/v1/moderations",
  "/v1/rerank",
  "/v1/score",
  "/v1/classify",
] as const;
