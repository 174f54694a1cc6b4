/**
 * The names in an answer by which content and usage are recognised, and the places where usage is the upstream's own
 * report. Many answers repeat text of the client (the Responses API repeats `text`, `tools` and `metadata` of the request),
 * so that a name alone proves nothing: a report counts only at its place, counted from the outermost object.
 */
import { nameTable } from "../wire/bytes/name-table.ts";

/** Names that have a meaning. */
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
  /** Contains counts one object further in, as Cohere reports them. */
  Tokens: 11,
  Content: 12,
  Text: 13,
  Reasoning: 14,
  ReasoningContent: 15,
  Echo: 16,
  FinishReason: 17,
  StopReason: 18,
  /** Types, not names: an event whose `delta` is audio, an event before the answer, an event at its end. */
  Sound: 19,
  Begun: 20,
  Last: 21,
  /** Objects within a report that contain its parts. */
  InputDetails: 22,
  OutputDetails: 23,
  /** The model that answers. */
  Model: 24,
  /** An error, as the member of an event or as its type; the type of an answer that has failed. */
  Error: 25,
  Failed: 26,
  /** Ids by which the upstream keeps an object, and members whose object has one. */
  Id: 27,
  ContainerId: 28,
  Item: 29,
  Container: 30,
  /** The report of SGLang. */
  MetaInfo: 31,
  /** Reasoning once more, with its own texts; of these a summary. */
  ReasoningDetails: 32,
  Summary: 33,
  /** The start of a part of an Anthropic message. */
  ContentBlock: 34,
  /** Arguments of a call, as a text or as an object; `input` may also repeat the client's. */
  Arguments: 35,
  Input: 36,
  /** Thinking that only the upstream can read. */
  Sealed: 37,
  /** The type of an event that shows an item of the output whole, which most upstreams have sent in pieces. */
  WholeItem: 38,
  // from here on: names of counts ({@link isCountName})
  InputCount: 39,
  /** An input that may leave out the cached part (reported-counts.ts). */
  InputOrRest: 40,
  OutputCount: 41,
  CacheReadCount: 42,
  CacheWrittenCount: 43,
  CachedCount: 44,
  ReasoningCount: 45,
  Seconds: 46,
  Duration: 47,
  TotalCount: 48,
  /** Tokens that an input put into a cache, within its details: the input is whole. */
  CacheWriteCount: 49,
  /** Parts of the input or of the output, in any object of details. */
  AudioCount: 50,
  ImageCount: 51,
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
  meta_info: Name.MetaInfo,
  type: Name.Type,
  model: Name.Model,
  usage: Name.Usage,
  tokens: Name.Tokens,
  billed_units: Name.Tokens,
  content: Name.Content,
  text: Name.Text,
  refusal: Name.Text,
  arguments: Name.Arguments,
  partial_json: Name.Text,
  transcript: Name.Text,
  thinking: Name.Reasoning,
  reasoning: Name.Reasoning,
  reasoning_content: Name.ReasoningContent,
  reasoning_details: Name.ReasoningDetails,
  summary: Name.Summary,
  content_block: Name.ContentBlock,
  signature: Name.Sealed,
  data: Name.Sealed,
  // the text of the members beside it once more, or the client's own text
  logprobs: Name.Echo,
  annotations: Name.Echo,
  metadata: Name.Echo,
  tools: Name.Echo,
  input: Name.Input,
  instructions: Name.Echo,
  prompt: Name.Echo,
  prompt_token_ids: Name.Echo,
  // what kind of object it is, and when it was made
  object: Name.Echo,
  created_at: Name.Echo,
  id: Name.Id,
  container_id: Name.ContainerId,
  item: Name.Item,
  container: Name.Container,
  prompt_tokens: Name.InputCount,
  input_tokens: Name.InputOrRest,
  tokens_evaluated: Name.InputCount,
  prompt_eval_count: Name.InputCount,
  completion_tokens: Name.OutputCount,
  tokens_predicted: Name.OutputCount,
  eval_count: Name.OutputCount,
  output_tokens: Name.OutputCount,
  total_tokens: Name.TotalCount,
  cache_read_input_tokens: Name.CacheReadCount,
  cache_creation_input_tokens: Name.CacheWrittenCount,
  prompt_tokens_details: Name.InputDetails,
  input_tokens_details: Name.InputDetails,
  completion_tokens_details: Name.OutputDetails,
  output_tokens_details: Name.OutputDetails,
  input_token_details: Name.InputDetails,
  output_token_details: Name.OutputDetails,
  cached_tokens: Name.CachedCount,
  reasoning_tokens: Name.ReasoningCount,
  cache_write_tokens: Name.CacheWriteCount,
  audio_tokens: Name.AudioCount,
  image_tokens: Name.ImageCount,
  seconds: Name.Seconds,
  duration: Name.Duration,
  error: Name.Error,
  finish_reason: Name.FinishReason,
  stop_reason: Name.StopReason,
  "response.audio.delta": Name.Sound,
  "response.output_audio.delta": Name.Sound,
  "response.output_item.done": Name.WholeItem,
  "response.created": Name.Begun,
  "response.queued": Name.Begun,
  "response.in_progress": Name.Begun,
  "response.completed": Name.Last,
  "response.incomplete": Name.Last,
  "response.failed": Name.Failed,
  message_stop: Name.Last,
  "image_generation.completed": Name.Last,
  "image_edit.completed": Name.Last,
  "speech.audio.done": Name.Last,
  "transcript.text.done": Name.Last,
});

/**
 * Whether an object, the value of `member`, reports usage: `usage` or `meta_info` of the outermost object, `meta_info` of each
 * object in an outermost list (where no member is under way), `usage` of the outermost object's
 * `response`, `message` or `x_groq`, or of a choice; `tokens` or `billed_units` of its `meta` or `usage`. `depth` is the number of objects and lists
 * that are open, `root` the member of the outermost object under way, `list` whether its value is a list.
 */
export function isReport(member: number, depth: number, root: number, list: boolean): boolean {
  if (member === Name.Tokens) return depth === 2 && (root === Name.Meta || root === Name.Usage);
  if (member === Name.MetaInfo) return depth === 1 || (depth === 2 && root === 0);
  if (member !== Name.Usage) return false;
  if (depth === 2) return root === Name.Response || root === Name.Message || root === Name.Groq;
  return depth === 1 || isInChoice(depth, root, list);
}

/** Whether the value of a member with this name may be a count. */
export function isCountName(member: number): boolean {
  return member >= Name.InputCount;
}

/** Whether a count with this name is a time. */
export function isTime(member: number): boolean {
  return member === Name.Seconds || member === Name.Duration;
}

/** Where the scan stands: numbers of objects and lists that are open. */
interface CountPlace {
  readonly depth: number;
  /** Depth within the report under way; 0: none is. */
  readonly reportFrom: number;
  /** Depth within the details under way, and which ones; 0: none are. */
  readonly detailsFrom: number;
  readonly details: number;
}

/**
 * Whether a number, the value of `member` at this place, is a count of the upstream: whole counts are in a report, or in the
 * outermost object; parts of them in the details beside them; the duration of audio in the outermost object alone.
 */
export function isCount(member: number, { depth, reportFrom, detailsFrom, details }: CountPlace): boolean {
  switch (member) {
    case Name.CachedCount:
    case Name.CacheWriteCount:
      return depth === detailsFrom && details === Name.InputDetails;
    case Name.ReasoningCount:
      return depth === detailsFrom && details === Name.OutputDetails;
    case Name.AudioCount:
    case Name.ImageCount:
      return depth === detailsFrom;
    case Name.Duration:
      return depth === 1;
    case Name.Seconds:
      return depth === reportFrom;
    default:
      return isCountPlace(depth, reportFrom);
  }
}

/** Whether whole counts, and the details of them, may stand at this depth. */
export function isCountPlace(depth: number, reportFrom: number): boolean {
  return depth === (reportFrom === 0 ? 1 : reportFrom);
}

/** Whether a text, the value of `member` at this place, says why the answer ended. */
export function isFinish(member: number, depth: number, root: number, list: boolean): boolean {
  if (member === Name.FinishReason) return isInChoice(depth, root, list);
  return member === Name.StopReason && depth === 2 && root === Name.Delta;
}

/** Whether a text, the value of `member` at this place, names the model that answers. */
export function isModel(member: number, depth: number, root: number): boolean {
  if (member !== Name.Model) return false;
  return depth === 1 || (depth === 2 && (root === Name.Response || root === Name.Message));
}

/**
 * Whether a text, the value of `member` at this place, is the id of an object that the upstream has made for this answer: of
 * the answer itself, of an item of its output and that item's container, of the container of a message, of the sound of a
 * choice. Any other place may repeat text of the client, or of a server that it names.
 */
export function isObjectId(member: number, depth: number, root: number, list: boolean): boolean {
  const isItem = (depth === 2 && root === Name.Item) || (depth === 3 && root === Name.Output && list);
  if (member === Name.ContainerId) return isItem;
  if (member !== Name.Id) return false;
  if (isItem || depth === 1) return true;
  if (depth === 2) return root === Name.Response || root === Name.Container;
  if (depth === 3) return !list && (root === Name.Message || root === Name.Delta);
  return depth === 5 && root === Name.Choices && list;
}

/** Whether texts below this member of the outermost object are content. */
export function isContentRoot(root: number): boolean {
  return CONTENT_ROOTS.has(root);
}

const CONTENT_ROOTS: ReadonlySet<number> = new Set([
  Name.Choices,
  Name.Delta,
  Name.Output,
  Name.Content,
  Name.ContentBlock,
  Name.Message,
  Name.Item,
]);

/** Whether the value of `member`, in any form, holds the arguments of a call. */
export function isArguments(member: number, root: number): boolean {
  return (member === Name.Arguments || member === Name.Input) && isContentRoot(root);
}

/** Whether a text, the value of `member` at this place, is thinking in a message that only its upstream can read. */
export function isSealed(member: number, depth: number, root: number): boolean {
  return member === Name.Sealed && depth === 2 && (root === Name.Delta || root === Name.ContentBlock);
}

/** Whether an object or a list, the value of this member of the outermost object, shows an answer of a form that is known. */
export function isKnownForm(member: number): boolean {
  return member === Name.Choices || member === Name.Response || member === Name.Message;
}

/** Whether the text of a member with this name only states a type, or repeats text of the client. */
export function isLabel(member: number): boolean {
  return LABELS.has(member);
}

const LABELS: ReadonlySet<number> = new Set([Name.Echo, Name.Input, Name.Id, Name.ContainerId, Name.Type, Name.Model]);

function isInChoice(depth: number, root: number, list: boolean): boolean {
  return depth === 3 && root === Name.Choices && list;
}
