/** The person who looks at the page. */
import { createContext, useContext } from "react";
import type { SessionUser } from "./session.ts";

export const CurrentUser = createContext<SessionUser | null>(null);

/** The signed-in user. Throws outside the pages of signed-in people. */
export function useCurrentUser(): SessionUser {
  const user = useContext(CurrentUser);
  if (user === null) throw new Error("no user has signed in here");
  return user;
}
