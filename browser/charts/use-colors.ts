/** Colours of tokens as a canvas takes them: resolved for the theme that is shown, and again when that changes. */
import { type RefObject, useEffect, useState } from "react";

/**
 * The colours of CSS values such as `var(--series-1)`, read from an element of the page that shows nothing; null until it is
 * there. They follow the choice of theme and the system's.
 */
export function useColors(probe: RefObject<HTMLElement | null>, values: readonly string[]): readonly string[] | null {
  const [colors, setColors] = useState<readonly string[] | null>(null);
  const key = values.join(" ");
  useEffect(() => {
    const read = (): void => {
      const element = probe.current;
      if (element === null) return;
      const found = key.split(" ").map((value) => {
        element.style.color = value;
        return getComputedStyle(element).color;
      });
      setColors((before) => (before?.join(" ") === found.join(" ") ? before : found));
    };
    read();
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", read);
    const theme = new MutationObserver(read);
    theme.observe(document.documentElement, { attributes: true });
    return () => {
      system.removeEventListener("change", read);
      theme.disconnect();
    };
  }, [probe, key]);
  return colors;
}
