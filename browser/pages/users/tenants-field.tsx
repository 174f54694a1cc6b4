import { X } from "lucide-react";
import { useState } from "react";
import { TENANT_ROLES, type TenantRole } from "../../../shared/fields/roles.ts";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { usersTexts } from "../../messages/en/users.ts";
import { texts } from "../../messages/texts.ts";
import { IconButton } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { TenantOfUser, useTenantName } from "./tenant-of-user.tsx";
import classes from "./tenants-field.module.css";

const text = texts("users", usersTexts);

export interface ChosenTenant {
  readonly tenant_id: string;
  readonly role: TenantRole;
}

interface TenantsFieldProps {
  readonly label: string;
  readonly chosen: readonly ChosenTenant[];
  readonly onChange: (chosen: readonly ChosenTenant[]) => void;
  /** Whether the role is chosen for each. */
  readonly hasRoles: boolean;
  readonly error?: string | undefined;
}

/** Any number of tenants, found by typing a part of a name. */
export function TenantsField({ label, chosen, onChange, hasRoles, error }: TenantsFieldProps) {
  // A new control after each choice, so that what was typed is gone.
  const [nth, setNth] = useState(0);
  const add = (tenantId: string | null): void => {
    if (tenantId === null) return;
    setNth(nth + 1);
    if (!chosen.some(({ tenant_id }) => tenant_id === tenantId))
      onChange([...chosen, { tenant_id: tenantId, role: "viewer" }]);
  };
  return (
    <fieldset className={classes["tenants"]}>
      <legend>{label}</legend>
      {chosen.map((one) => (
        <ChosenRow
          key={one.tenant_id}
          chosen={one}
          hasRole={hasRoles}
          onRole={(role) =>
            onChange(chosen.map((other) => (other.tenant_id === one.tenant_id ? { ...other, role } : other)))
          }
          onRemove={() => onChange(chosen.filter(({ tenant_id }) => tenant_id !== one.tenant_id))}
        />
      ))}
      <TenantOfUser key={nth} tenantId={null} onChoose={add} error={error} />
    </fieldset>
  );
}

function ChosenRow({
  chosen: { tenant_id, role },
  hasRole,
  onRole,
  onRemove,
}: {
  readonly chosen: ChosenTenant;
  readonly hasRole: boolean;
  readonly onRole: (role: TenantRole) => void;
  readonly onRemove: () => void;
}) {
  const name = useTenantName(tenant_id) ?? tenant_id;
  return (
    <div className={classes["chosen"]}>
      <bdi>{name}</bdi>
      {hasRole && (
        <SelectField
          label={text("roleIn", { name })}
          isLabelHidden
          value={role}
          onChange={({ target }) => onRole(TENANT_ROLES.find((one) => one === target.value) ?? "viewer")}
          choices={TENANT_ROLES.map((value) => ({ value, label: choiceLabel(value) }))}
        />
      )}
      <IconButton writes label={text("removeTenant", { name })} onClick={onRemove}>
        <X size={14} aria-hidden />
      </IconButton>
    </div>
  );
}
