import { Menu as BaseMenu } from "@base-ui/react/menu";
import type { ReactElement } from "react";
import { classNames } from "./class-names.ts";
import classes from "./menu.module.css";

export interface MenuItem {
  readonly label: string;
  readonly onPress: () => void;
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
}

/** A list of actions behind a button. */
export function Menu({ trigger, items }: { readonly trigger: ReactElement; readonly items: readonly MenuItem[] }) {
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner sideOffset={4} align="end" className={classes["positioner"]}>
          <BaseMenu.Popup className={classes["popup"]}>
            {items.map(({ label, onPress, isDanger = false, isDisabled = false }) => (
              <BaseMenu.Item
                key={label}
                onClick={onPress}
                disabled={isDisabled}
                className={classNames(classes["item"], isDanger && classes["danger"])}
              >
                {label}
              </BaseMenu.Item>
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}
