/** The end of a session by its own user. */
import { useQueryClient } from "@tanstack/react-query";
import { forgetPrivate } from "../data/private-storage.ts";
import { SESSION_KEY, signOut } from "../data/session.ts";

/** Ends the session, and leaves nothing of it in the page. Rejects with ApiError where the server cannot be asked. */
export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await signOut();
    forgetPrivate();
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
    location.assign("/sign-in");
  };
}
