/** The assistant of the console's server (docs/rules/assistant.md): its state, questions, and proposals that are run. */
import { queryOptions } from "@tanstack/react-query";
import type {
  AssistantEvent,
  AssistantOutcome,
  AssistantOutdated,
  AssistantRun,
  AssistantState,
} from "../../shared/wire/assistant.ts";
import { EventReader } from "../../shared/wire/event-reader.ts";
import { send } from "./api.ts";
import { ApiError, errorOf } from "./api-error.ts";
import { retries } from "./reads.ts";

export const ASSISTANT_KEY = ["assistant"] as const;
const EVENT_MAX_CHARACTERS = 2_000_000;

/** Whether the assistant can be asked, and its tools. */
export const assistantState = queryOptions<AssistantState, ApiError>({
  queryKey: ASSISTANT_KEY,
  queryFn: async ({ signal }) =>
    (await answered(new Request(new URL("/api/assistant", location.origin), { signal }))) as AssistantState,
  retry: retries,
});

/** Asks; `onEvent` is told each part of the answer as it comes. Throws ApiError, also when the answer breaks off. */
export async function askAssistant(
  question: { readonly text: string; readonly history: readonly unknown[] },
  onEvent: (event: AssistantEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await send(posted("/api/assistant/ask", question, signal));
  if (!response.ok || response.body === null) throw errorOf(response, await response.json().catch(() => null));
  const events = new EventReader(EVENT_MAX_CHARACTERS);
  const reader = response.body.getReader();
  let isWhole = false;
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
    for (const data of done ? events.finish() : events.push(value ?? new Uint8Array())) {
      const event = JSON.parse(data) as AssistantEvent;
      isWhole ||= event.kind === "done" || event.kind === "failed";
      onEvent(event);
    }
    if (done) break;
  }
  if (!isWhole) throw new ApiError(0, "unreachable", "the answer broke off");
}

/** Runs a proposal, unless it is outdated. Throws ApiError; what the Management API says is in the value. */
export async function runProposal(token: string): Promise<AssistantRun | AssistantOutdated> {
  return (await answered(posted("/api/assistant/run", { token }))) as AssistantRun | AssistantOutdated;
}

/** What came of a proposal whose answer was lost; `unknown` too when that cannot be told any more, or now. */
export async function proposalOutcome(token: string): Promise<AssistantOutcome> {
  try {
    return (await answered(posted("/api/assistant/outcome", { token }))) as AssistantOutcome;
  } catch {
    return { state: "unknown" };
  }
}

function posted(path: string, body: object, signal: AbortSignal | null = null): Request {
  const headers = { "content-type": "application/json" };
  return new Request(new URL(path, location.origin), { method: "POST", headers, body: JSON.stringify(body), signal });
}

async function answered(request: Request): Promise<unknown> {
  const response = await send(request);
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorOf(response, body);
  return body;
}
