/** The field of a model whose upstream has the API of a path, so that calls of the path are not translated. */
export const speaking = (path: string): { readonly api_dialect: "anthropic" | "openai" } => ({
  api_dialect: /\/messages(?:\?|$)/.test(path) ? "anthropic" : "openai",
});
