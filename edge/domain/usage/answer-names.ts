/**
 * The names in an answer that tell content and usage from everything else, and the places where usage is an upstream's own
 * word. A client's text comes back in many answers (the Responses API repeats `text`, `tools` and `metadata` of the request),
 * so that a name alone proves nothing: a report counts by where it stands, counted from the outermost object.
 */
import { nameTable } from "../bytes/name-table.ts";

/** Names that mean something. */
export const Name = {
  Other: 1,
  Choices: 2,
  Delta: 3,
  Output: 4,
  Message: 5,
  Response: 6,
  Groq: 7,
  Meta: 8,
  Type: 9,
  Usage: 10,
  /** Counts one object further in, as Cohere reports them. */
  Tokens: 11,
  Content: 12,
  Text: 13,
  Reasoning: 14,
  ReasoningContent: 15,
  Echo: 16,
  InputCount: 17,
  OutputCount: 18,
  FinishReason: 19,
  StopReason: 20,
  /** Not names but types. Of an event whose `delta` is sound, of one before the answer, of one at its end. */
  Sound: 21,
  Begun: 22,
  Last: 23,
} as const;

/** Every name that is known. */
export const NAMES = nameTable({
  choices: Name.Choices,
  delta: Name.Delta,
  output: Name.Output,
  message: Name.Message,
  response: Name.Response,
  x_groq: Name.Groq,
  meta: Name.Meta,
  type: Name.Type,
  usage: Name.Usage,
  tokens: Name.Tokens,
  billed_units: Name.Tokens,
  content: Name.Content,
  text: Name.Text,
  refusal: Name.Text,
  arguments: Name.Text,
  partial_json: Name.Text,
  transcript: Name.Text,
  thinking: Name.Reasoning,
  reasoning: Name.Reasoning,
  reasoning_content: Name.ReasoningContent,
  // the text of what stands beside them once more, or the client's own words
  reasoning_details: Name.Echo,
  logprobs: Name.Echo,
  annotations: Name.Echo,
  metadata: Name.Echo,
  tools: Name.Echo,
  input: Name.Echo,
  prompt_tokens: Name.InputCount,
  input_tokens: Name.InputCount,
  completion_tokens: Name.OutputCount,
  output_tokens: Name.OutputCount,
  finish_reason: Name.FinishReason,
  stop_reason: Name.StopReason,
  "response.audio.delta": Name.Sound,
  "response.output_audio.delta": Name.Sound,
  "response.created": Name.Begun,
  "response.queued": Name.Begun,
  "response.in_progress": Name.Begun,
  "response.completed": Name.Last,
  "response.incomplete": Name.Last,
  "response.failed": Name.Last,
  message_stop: Name.Last,
  "image_generation.completed": Name.Last,
  "image_edit.completed": Name.Last,
  "speech.audio.done": Name.Last,
  "transcript.text.done": Name.Last,
});

/**
 * Whether an object, the value of `member`, reports usage: `usage` of the outermost object, of its `response`, `message` or
 * `x_groq`, or of a choice; `tokens` or `billed_units` of its `meta` or `usage`. `depth` is the number of objects and lists
 * that are open, `root` the member of the outermost object under way, `list` whether its value is a list.
 */
export function isReport(member: number, depth: number, root: number, list: boolean): boolean {
  if (member === Name.Tokens) return depth === 2 && (root === Name.Meta || root === Name.Usage);
  if (member !== Name.Usage) return false;
  if (depth === 2) return root === Name.Response || root === Name.Message || root === Name.Groq;
  return depth === 1 || isInChoice(depth, root, list);
}

/** Whether a text, the value of `member` at such a place, tells why the answer is over. */
export function isFinish(member: number, depth: number, root: number, list: boolean): boolean {
  if (member === Name.FinishReason) return isInChoice(depth, root, list);
  return member === Name.StopReason && depth === 2 && root === Name.Delta;
}

/** Whether texts below this member of the outermost object are content. */
export function isContentRoot(root: number): boolean {
  return root === Name.Choices || root === Name.Delta || root === Name.Output || root === Name.Content;
}

function isInChoice(depth: number, root: number, list: boolean): boolean {
  return depth === 3 && root === Name.Choices && list;
}
