/** Keys that work anywhere on a page, unless a person is typing or a window lies over the page. */
import { useLayoutEffect, useRef } from "react";

const TYPING = "input, textarea, select, [contenteditable=''], [contenteditable='true']";
const SINGLE_KEYS = "gateway-single-keys";
const OVER_PAGE = "[role='dialog'], [role='alertdialog'], [role='menu']";

/** Whether keys such as `j` act alone. Speech input and a slip of the hand press them too, so they can be turned off. */
export function areSingleKeysOn(): boolean {
  try {
    return localStorage.getItem(SINGLE_KEYS) !== "off";
  } catch {
    return true; // the browser keeps nothing for this site
  }
}

/** Turns them on or off in this browser. */
export function setSingleKeys(isOn: boolean): void {
  try {
    localStorage.setItem(SINGLE_KEYS, isOn ? "on" : "off");
  } catch {
    // they stay on
  }
}

/**
 * Calls `handler` for a key (`KeyboardEvent.key`, such as `j` or `?`) pressed without Ctrl, Alt or Meta, or for `mod+k`, which
 * is Ctrl or Cmd with the key and works while typing too. It works from the moment on at which the page is seen: a browser
 * hands out keys before the effects that wait for the page to be painted.
 */
export function useShortcut(key: string, handler: (event: KeyboardEvent) => void, isOn = true): void {
  const latest = useRef(handler);
  useLayoutEffect(() => {
    latest.current = handler;
  });
  useLayoutEffect(() => {
    if (!isOn) return;
    const onKey = (event: KeyboardEvent): void => {
      if (isPressed(key, event)) latest.current(event);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [key, isOn]);
}

function isPressed(key: string, event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.isComposing) return false;
  if (key.startsWith("mod+"))
    return (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === key.slice(4);
  if (event.ctrlKey || event.metaKey || event.altKey || event.key !== key) return false;
  if (key.length === 1 && !areSingleKeysOn()) return false;
  const isTyping = event.target instanceof Element && event.target.closest(TYPING) !== null;
  return !isTyping && document.querySelector(OVER_PAGE) === null;
}
