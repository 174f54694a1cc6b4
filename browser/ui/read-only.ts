/** Whether the person who looks at the page can only read (docs/rules/users.md#roles): what writes is not shown then. */
import { createContext, useContext } from "react";

export const ReadOnly = createContext(false);

export function useReadOnly(): boolean {
  return useContext(ReadOnly);
}
