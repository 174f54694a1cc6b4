import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { chooseTenant, SESSION_KEY, type SessionUser } from "../data/session.ts";
import { complain } from "../forms/record/use-announced-write.ts";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { SelectField } from "../ui/fields.tsx";
import classes from "./frame.module.css";

const text = texts("shell", shellTexts);

/** Which of several tenants every page shows. The page starts again with the other one. */
export function TenantSwitch({ user }: { readonly user: SessionUser }) {
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const choose = async (tenantId: string): Promise<void> => {
    setBusy(true);
    try {
      await chooseTenant(tenantId);
      await queries.invalidateQueries({ queryKey: SESSION_KEY });
    } catch (error) {
      complain(text("tenantFailed"), error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <SelectField
      label={text("tenant")}
      isLabelHidden
      className={classes["tenant"] ?? ""}
      value={user.tenant_id ?? ""}
      disabled={isBusy}
      onChange={({ target }) => void choose(target.value)}
      choices={user.tenants.map(({ id, name }) => ({ value: id, label: name }))}
    />
  );
}
