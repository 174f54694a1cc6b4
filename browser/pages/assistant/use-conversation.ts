/** A conversation that is under way: asked, answered piece by piece, stopped, begun anew. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { AssistantOutdated, AssistantProposal, AssistantRun } from "../../../shared/wire/assistant.ts";
import type { ApiError } from "../../data/api-error.ts";
import { ASSISTANT_KEY, askAssistant, proposalOutcome, runProposal } from "../../data/assistant.ts";
import { assistantTexts } from "../../messages/en/assistant.ts";
import { texts } from "../../messages/texts.ts";
import {
  atRest,
  type Conversation,
  ended,
  NO_CONVERSATION,
  stateOf,
  unanswered,
  withEntry,
  withEvent,
  withOutdated,
  withProposal,
} from "./conversation.ts";

const text = texts("assistant", assistantTexts);
/** Of the conversation in the store of reads, which ends with the session. */
const KEPT = [...ASSISTANT_KEY, "conversation"];
const LOOK_EVERY_MS = 5000;

/** The conversation, kept while other pages are open, and what can be done with it. */
export function useConversation() {
  const queries = useQueryClient();
  const [conversation, setConversation] = useState(() => queries.getQueryData<Conversation>(KEPT) ?? NO_CONVERSATION);
  const latest = useRef(conversation);
  const asking = useRef<AbortController | null>(null);
  /** Ids of proposals that run here, or of which is asked what came of them. */
  const busy = useRef(new Set<string>());
  const change = (next: (before: Conversation) => Conversation): void => {
    latest.current = next(latest.current);
    setConversation(latest.current);
  };
  useEffect(() => {
    queries.setQueryDefaults(KEPT, { gcTime: Number.POSITIVE_INFINITY });
    return () => {
      asking.current?.abort();
      queries.setQueryData(KEPT, atRest(latest.current));
    };
  }, [queries]);

  /** Looks what came of a proposal whose answer was lost; `failure`: what is shown when it was not run. */
  const look = async ({ id, token, method, path }: AssistantProposal, failure?: ApiError): Promise<void> => {
    const outcome = await proposalOutcome(token);
    const state = stateOf(outcome);
    if (state.is === "open" && failure !== undefined) {
      const { code, message } = failure;
      change((before) => withProposal(before, id, { is: "failed", error: { code, message } }));
    } else if (state.is === "answered")
      change((before) => withProposal(before, id, state, text("toldRun", { method, path, status: state.run.status })));
    else change((before) => withProposal(before, id, state));
  };
  const looking = useRef(look);
  looking.current = look;
  useEffect(() => {
    const lookAt = (proposals: readonly AssistantProposal[]): void => {
      for (const proposal of proposals) {
        if (busy.current.has(proposal.id)) continue;
        busy.current.add(proposal.id);
        void looking.current(proposal).finally(() => busy.current.delete(proposal.id));
      }
    };
    lookAt([...unanswered(latest.current, "running"), ...unanswered(latest.current, "unknown")]);
    const timer = setInterval(() => lookAt(unanswered(latest.current, "running")), LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, []);

  const ask = useMutation<void, ApiError, string>({
    mutationFn: async (question) => {
      const stopping = new AbortController();
      asking.current = stopping;
      const { history } = latest.current;
      change((before) => withEntry(before, { kind: "question", text: question }));
      try {
        await askAssistant(
          { text: question, history },
          (event) => {
            if (!stopping.signal.aborted) change((before) => withEvent(before, event));
          },
          stopping.signal,
        );
      } catch (error) {
        if (!stopping.signal.aborted) throw error;
      }
    },
    onError: ({ code, message }) => change((before) => withEntry(before, { kind: "failed", code, message })),
  });

  const run = useMutation<AssistantRun | AssistantOutdated, ApiError, AssistantProposal>({
    // Its answer may hold a secret: it is kept in no store of answers.
    gcTime: 0,
    mutationFn: async ({ id, token }) => {
      busy.current.add(id);
      change((before) => withProposal(before, id, { is: "running" }));
      return await runProposal(token);
    },
    onSuccess: (answer, { id, method, path }) => {
      if ("outdated" in answer) return change((before) => withOutdated(before, id, answer.outdated));
      const told = text("toldRun", { method, path, status: answer.status });
      change((before) => withProposal(before, id, { is: "answered", run: answer }, told));
    },
    onError: async (error, proposal) => {
      const { status, code, message } = error;
      // Another click may have run it, here or in another window.
      if (status === 0 || status >= 500 || code === "proposal_unusable") await look(proposal, error);
      else change((before) => withProposal(before, proposal.id, { is: "failed", error: { code, message } }));
    },
    // Whatever was written, every read may show it.
    onSettled: async (_answer, _error, { id }) => {
      busy.current.delete(id);
      await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== KEPT[0] });
    },
  });

  return {
    conversation,
    isAsking: ask.isPending,
    ask: (question: string) => ask.mutate(question),
    run: (proposal: AssistantProposal) => run.mutate(proposal),
    dismiss: ({ id, method, path }: AssistantProposal) =>
      change((before) => withProposal(before, id, { is: "dismissed" }, text("toldDismissed", { method, path }))),
    stop: () => {
      asking.current?.abort();
      change((before) => withEntry(ended(before), { kind: "stopped", why: "person" }));
    },
    anew: () => {
      asking.current?.abort();
      change(() => NO_CONVERSATION);
    },
  };
}
