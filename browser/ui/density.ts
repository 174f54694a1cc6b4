/** How close things stand: comfortable or compact; kept in the browser, set before the first drawing. */
import { useState, useSyncExternalStore } from "react";

export const DENSITIES = ["comfortable", "compact"] as const;
type Density = (typeof DENSITIES)[number];

const KEY = "gateway-density";
/** Of tables, as tokens.css has them. */
const HEIGHTS = { comfortable: { rowPx: 37, headPx: 36 }, compact: { rowPx: 29, headPx: 30 } } as const;
const listeners = new Set<() => void>();

export function storedDensity(): Density {
  try {
    return localStorage.getItem(KEY) === "compact" ? "compact" : "comfortable";
  } catch {
    return "comfortable"; // the browser keeps nothing for this site
  }
}

/** Shows a density, and keeps it where the browser lets it. */
export function applyDensity(density: Density): void {
  document.documentElement.dataset["density"] = density;
  for (const listener of listeners) listener();
  try {
    localStorage.setItem(KEY, density);
  } catch {
    // shown until the page is closed
  }
}

/** The density that is shown. */
export function useDensity(): Density {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => (document.documentElement.dataset["density"] === "compact" ? "compact" : "comfortable"),
    () => "comfortable",
  );
}

/** How high a table's rows and its head are. */
export function useRowHeights() {
  return HEIGHTS[useDensity()];
}

/** Whether the page is as narrow as on a phone, when it is first seen. */
export function useIsPhone(): boolean {
  const [isPhone] = useState(() => matchMedia("(max-width: 639px)").matches);
  return isPhone;
}
