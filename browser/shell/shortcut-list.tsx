import { useState } from "react";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { CheckField } from "../ui/fields.tsx";
import { Facts, Stack } from "../ui/layout.tsx";
import { areSingleKeysOn, setSingleKeys } from "../ui/shortcuts.ts";

const text = texts("shell", shellTexts);

/** Which keys do what, and whether keys that act alone do. */
export function ShortcutList({ onClose }: { readonly onClose: () => void }) {
  const [isOn, setOn] = useState(areSingleKeysOn);
  const keys = [
    ["Ctrl K / ⌘ K", "shortcutPalette"],
    ["/", "shortcutFilter"],
    ["j / ↓", "shortcutDown"],
    ["k / ↑", "shortcutUp"],
    ["Enter", "shortcutOpen"],
    ["Esc", "shortcutClose"],
    ["?", "shortcutHelp"],
  ] as const;
  return (
    <Dialog isOpen onClose={onClose} title={text("shortcuts")}>
      <Stack>
        <Facts facts={keys.map(([key, id]) => [<kbd key={key}>{key}</kbd>, text(id)])} />
        <CheckField
          label={text("shortcutsSingle")}
          hint={text("shortcutsSingleHint")}
          checked={isOn}
          onChange={({ target }) => {
            setSingleKeys(target.checked);
            setOn(target.checked);
          }}
        />
      </Stack>
    </Dialog>
  );
}
