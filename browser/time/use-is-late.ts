import { useEffect, useState } from "react";

/** How long a page waits for reads that belong together before it shows those that are there. */
const LATE_MS = 3000;

/** True once a page has waited long enough for all of its reads: what is late must not keep the rest back. */
export function useIsLate(): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), LATE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isLate;
}

/** Whether a read has ended: what stands below it is shown then, so that nothing moves under a reader's eyes. */
export function isRead({ data, error }: { readonly data: unknown; readonly error: unknown }): boolean {
  return data !== undefined || error !== null;
}
