/** A conversation that is under way: asked, answered piece by piece, stopped, begun anew. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { AssistantProposal, AssistantRun } from "../../../shared/assistant.ts";
import type { ApiError } from "../../data/api-error.ts";
import { ASSISTANT_KEY, askAssistant, runProposal } from "../../data/assistant.ts";
import { assistantTexts } from "../../messages/en/assistant.ts";
import { texts } from "../../messages/texts.ts";
import {
  atRest,
  type Conversation,
  ended,
  NO_CONVERSATION,
  withEntry,
  withEvent,
  withProposal,
} from "./conversation.ts";

const text = texts("assistant", assistantTexts);
/** Of the conversation in the store of reads, which ends with the session. */
const KEPT = [...ASSISTANT_KEY, "conversation"];

/** The conversation, kept while other pages are open, and what can be done with it. */
export function useConversation() {
  const queries = useQueryClient();
  const [conversation, setConversation] = useState(() => queries.getQueryData<Conversation>(KEPT) ?? NO_CONVERSATION);
  const latest = useRef(conversation);
  const asking = useRef<AbortController | null>(null);
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

  const run = useMutation<AssistantRun, ApiError, AssistantProposal>({
    // Its answer may hold a secret: it is kept in no store of answers.
    gcTime: 0,
    mutationFn: async ({ id, token }) => {
      change((before) => withProposal(before, id, { is: "running" }));
      return await runProposal(token);
    },
    onSuccess: (answer, { id, method, path }) => {
      const told = text("toldRun", { method, path, status: answer.status });
      change((before) => withProposal(before, id, { is: "answered", run: answer }, told));
    },
    onError: ({ code, message }, { id }) =>
      change((before) => withProposal(before, id, { is: "failed", error: { code, message } })),
    // Whatever was written, every read may show it.
    onSettled: async () => await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== KEPT[0] }),
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
