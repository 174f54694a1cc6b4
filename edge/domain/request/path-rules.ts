/**
 * Which paths are served at all, and which undocumented paths may go upstream (docs/rules/routes.md#unknown-paths). A path is
 * forwarded as the client wrote it, and servers differ in what they ignore: the case of letters, a second round of
 * percent-decoding, empty segments, parameters after a semicolon. So a path is also read as the most lenient server would read
 * it; when that reading differs in meaning from the gateway's own, nothing is forwarded.
 */
import { MODEL_ROUTES, routeClassOf } from "./route-class.ts";

/** Objects of a provider's account: they belong to the operator's credential, not to a tenant. */
const ACCOUNT_OBJECTS: ReadonlySet<string> = new Set([
  "files",
  "uploads",
  "batches",
  "fine_tuning",
  "fine-tunes",
  "assistants",
  "threads",
  "vector_stores",
  "containers",
  "evals",
  "organization",
  "projects",
  "realtime",
  "conversations",
  "videos",
  "skills",
]);
/**
 * Below these paths are stored answers of every tenant that shares the credential. Token counts of a request are not such an
 * answer.
 */
const STORED_ANSWERS = /\/(?:responses\/(?!input_tokens$)|chat\/completions\/)./;

const STORED_ROUTES: ReadonlySet<string> = new Set(["GET ", "DELETE ", "GET /input_items", "POST /cancel"]);

/**
 * Paths that model servers (vLLM, SGLang, llama.cpp, TGI, TEI) and providers answer without changing anything, in addition to
 * the documented routes.
 */
const INFERENCE =
  /^(?:\/v[12])?\/(?:rerank|score|classify|pooling|moderations|messages(?:\/count_tokens)?|responses\/input_tokens|tokenize|detokenize|completion|infill|fim\/completions|generate|embed|apply-template)$/;

const DOCUMENTED: ReadonlySet<string> = new Set([
  ...MODEL_ROUTES,
  "/v1/messages/count_tokens",
  "/v1/models",
  "/v1/realtime",
  "/v1/openapi.json",
  "/v1/limits",
  "/health",
  "/livez",
  "/ready",
  "/readyz",
]);
/** The rest of a path with such a prefix is not checked here. */
const PREFIXES = ["/v1/models/", "/mcp/", "/internal/"] as const;

/**
 * The id in a path that reads, deletes or cancels a stored answer; null for every other path. Ids have only characters that
 * no server reads in two ways.
 */
export function storedAnswerOf(method: string, path: string): string | null {
  const [, id, part = ""] = /^\/v1\/responses\/([\w.:=-]{1,512})(\/\w+)?$/.exec(path) ?? [];
  return id !== undefined && STORED_ROUTES.has(`${method} ${part}`) ? id : null;
}

/** Most rounds of percent-decoding that a chain of servers might make. */
const DECODINGS_MAX = 8;

/**
 * False for a path with an empty segment, for one that ends with a slash (except below `/mcp/{server}`), and for a
 * documented route in other letter case. `path` is as the client wrote it.
 */
export function isServedPath(path: string): boolean {
  if (DOCUMENTED.has(path)) return true;
  if (path.includes("//")) return false;
  if (path.endsWith("/") && !/^\/mcp\/[^/]/.test(path)) return false;
  const plain = decodedOnce(path);
  const folded = fold(plain);
  if (folded === plain) return true;
  return !DOCUMENTED.has(folded) && !PREFIXES.some((prefix) => folded.startsWith(prefix) && !plain.startsWith(prefix));
}

/**
 * Whether an undocumented path may go upstream: one that only asks a model for something, or that the operator has added.
 * Model servers have other paths beside these that change the server for everybody.
 */
export function isPassedThrough(path: string, added: ReadonlySet<string>): boolean {
  return (added.has(path) || INFERENCE.test(path)) && mayBeAdded(path);
}

/** False for paths of account objects, and for those that a lenient server would read as a route of another class. */
export function mayBeAdded(path: string): boolean {
  const lenient = lenientReading(path);
  if (lenient === null || STORED_ANSWERS.test(lenient)) return false;
  if (lenient.split("/").some((segment) => ACCOUNT_OBJECTS.has(segment))) return false;
  const [own, read] = [routeClassOf(path), routeClassOf(lenient)];
  return own.requestType === read.requestType && own.billedBy === read.billedBy && own.form === read.form;
}

/** The path as the most lenient server would read it; null when such a server would read its end as a query. */
function lenientReading(path: string): string | null {
  let text = path;
  for (let round = 0; round < DECODINGS_MAX; round += 1) text = decodedOnce(text);
  if (/[?#]/.test(text)) return null;
  const segments = text.split(/[/\\]/).map(lenientSegment);
  return `/${segments.filter((segment) => segment !== "").join("/")}`;
}

/**
 * The segment without parameters, and without the spaces, dots and control characters that some servers drop at its end.
 */
function lenientSegment(segment: string): string {
  const [name = ""] = segment.split(";", 1);
  let end = name.length;
  while (end > 0 && (name.charCodeAt(end - 1) <= 0x20 || name[end - 1] === ".")) end -= 1;
  return fold(name.slice(0, end));
}

/** Decodes every valid escape once, even when there are invalid ones beside it. */
function decodedOnce(path: string): string {
  if (!path.includes("%")) return path;
  return path.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    }
  });
}

/** One case for all letters; converted both ways, because some letters become ASCII in one of them only. */
function fold(text: string): string {
  return text.toUpperCase().toLowerCase();
}
