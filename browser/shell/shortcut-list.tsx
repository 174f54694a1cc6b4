import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Facts } from "../ui/layout.tsx";

const text = texts("shell", shellTexts);

/** Which keys do what. */
export function ShortcutList({ onClose }: { readonly onClose: () => void }) {
  const keys = [
    ["Ctrl K / ⌘ K", "shortcutPalette"],
    ["/", "shortcutFilter"],
    ["j", "shortcutDown"],
    ["k", "shortcutUp"],
    ["Enter", "shortcutOpen"],
    ["Esc", "shortcutClose"],
    ["?", "shortcutHelp"],
  ] as const;
  return (
    <Dialog isOpen onClose={onClose} title={text("shortcuts")} closeLabel={text("close")}>
      <Facts facts={keys.map(([key, id]) => [<kbd key={key}>{key}</kbd>, text(id)])} />
    </Dialog>
  );
}
