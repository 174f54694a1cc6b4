import { Tabs as BaseTabs } from "@base-ui/react/tabs";
import type { ReactNode } from "react";
import classes from "./tabs.module.css";

interface Tab {
  readonly id: string;
  readonly label: string;
  /** Drawn only while the tab is chosen. */
  readonly content: ReactNode;
}

/** Tabs over one object. Which is chosen belongs in the address of the page. */
export function Tabs({
  tabs,
  chosen,
  onChoose,
  label,
}: {
  readonly tabs: readonly Tab[];
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
  readonly label: string;
}) {
  return (
    <BaseTabs.Root value={chosen} onValueChange={(id) => onChoose(String(id))} className={classes["root"]}>
      <BaseTabs.List className={classes["list"]} aria-label={label}>
        {tabs.map((tab) => (
          <BaseTabs.Tab key={tab.id} value={tab.id} className={classes["tab"]}>
            {tab.label}
          </BaseTabs.Tab>
        ))}
      </BaseTabs.List>
      {tabs.map((tab) => (
        <BaseTabs.Panel key={tab.id} value={tab.id} className={classes["panel"]}>
          {tab.content}
        </BaseTabs.Panel>
      ))}
    </BaseTabs.Root>
  );
}
