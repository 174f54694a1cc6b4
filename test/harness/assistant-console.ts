/** The console's assistant for tests: questions, proposals and their runs, by a browser in which the admin has signed in. */
import type { AssistantEvent, AssistantProposal } from "../../shared/wire/assistant.ts";
import { EventReader } from "../../shared/wire/event-reader.ts";
import { startConsole } from "./console.ts";

const EVENT_MAX_CHARACTERS = 10_000_000;

export type AssistantConsole = Awaited<ReturnType<typeof startAssistantConsole>>;

/** Starts a console whose assistant asks the model at `url`, which ends with `/v1`. */
export async function startAssistantConsole(url: string) {
  const testing = await startConsole({ GATEWAY_PROXY_BASE_URL: url.replace(/\/v1$/, "") });
  const admin = await testing.admin();
  const { must: api } = testing.control;
  await api("POST", "/models", { model_name: "brain", api_base: "http://127.0.0.1:9" });
  await api("PUT", "/settings/assistant", { brain_model: "brain" });
  const ask = async (
    text: string,
    history: readonly unknown[] = [],
    browser = admin,
  ): Promise<readonly AssistantEvent[]> => {
    const response = await browser.send("POST", "/api/assistant/ask", { text, history });
    if (response.headers.get("content-type") !== "text/event-stream")
      throw new Error(`no answer: ${response.status} ${await response.text()}`);
    return eventsIn(new Uint8Array(await response.arrayBuffer()));
  };
  return {
    testing,
    admin,
    api,
    ask,
    /** A change that the model proposes when it is asked for it. Throws when it does not. */
    proposed: async (change: string, parameters: object, body?: object): Promise<AssistantProposal> => {
      const events = await ask(calling({ propose_change: { change, parameters, body } }));
      const [proposal] = proposalsOf(events);
      if (proposal === undefined) throw new Error(JSON.stringify(events));
      return proposal;
    },
    run: async (token: string, browser = admin): Promise<Response> =>
      await browser.send("POST", "/api/assistant/run", { token }),
  };
}

/** A question that makes the scripted model call these tools, one after the other. */
export function calling(...calls: readonly object[]): string {
  return ["question", ...calls.map((one) => `call ${JSON.stringify(one)}`)].join("\n");
}

export function eventsIn(bytes: Uint8Array): readonly AssistantEvent[] {
  const reader = new EventReader(EVENT_MAX_CHARACTERS);
  return [...reader.push(bytes), ...reader.finish()].map((data) => JSON.parse(data) as AssistantEvent);
}

export function proposalsOf(events: readonly AssistantEvent[]): readonly AssistantProposal[] {
  return events.flatMap((event) => (event.kind === "proposal" ? [event.proposal] : []));
}
