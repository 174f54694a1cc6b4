/** Says what happened, at the corner of the page. What shows it is loaded apart from the pages. */

interface ToastText {
  /** What happened, and to what. */
  readonly title: string;
  readonly detail?: string | undefined;
  readonly tone?: "good" | "warn" | "bad";
  /** Something to do about it, such as taking it back. */
  readonly action?: { readonly label: string; readonly onPress: () => void } | undefined;
}

const SEEN_MS = 6000;

/** Shows a toast; it is read out at once when something failed. */
export function toast(said: ToastText): void {
  void add(said);
}

async function add(said: ToastText): Promise<void> {
  const { toastManager, toastsReady } = await import("./toast-manager.ts");
  await toastsReady;
  toastManager.add(optionsOf(said));
}

function optionsOf({ title, detail, tone = "good", action }: ToastText) {
  return {
    title,
    ...(detail === undefined ? {} : { description: detail }),
    type: tone,
    priority: tone === "bad" ? ("high" as const) : ("low" as const),
    timeout: tone === "bad" ? 2 * SEEN_MS : SEEN_MS,
    ...(action === undefined ? {} : { actionProps: { children: action.label, onClick: action.onPress } }),
  };
}
