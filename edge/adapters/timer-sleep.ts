/** Waiting with the platform's timers. A wait that is aborted leaves no timer behind. */
import type { Sleep } from "../ports.ts";

export const timerSleep: Sleep = async (ms, signal) => {
  if (signal.aborted) return;
  const over = Promise.withResolvers<void>();
  const end = (): void => over.resolve();
  const timer = setTimeout(end, ms);
  signal.addEventListener("abort", end, { once: true });
  await over.promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", end);
};
