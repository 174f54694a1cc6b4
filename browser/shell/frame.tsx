import { Link, useLocation } from "@tanstack/react-router";
import { CircleUserRound, Menu as MenuIcon, Search, X } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useId, useRef, useState } from "react";
import { Mark } from "../charts/mark.tsx";
import type { SessionUser } from "../data/session.ts";
import { pageTexts } from "../messages/en/pages.ts";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { applyDensity, DENSITIES, useDensity } from "../ui/density.ts";
import { SelectField } from "../ui/fields.tsx";
import { useShortcut } from "../ui/shortcuts.ts";
import { Notice } from "../ui/states.tsx";
import classes from "./frame.module.css";
import { navigationOf } from "./navigation.ts";
import { useSignOut } from "./signed-out.ts";
import { applyTheme, storedTheme, THEMES, type Theme } from "./theme.ts";

const text = texts("shell", shellTexts);
const pageName = texts("pages", pageTexts);
const Palette = lazy(async () => ({ default: (await import("./palette.tsx")).Palette }));
const OwnSessions = lazy(async () => ({ default: (await import("./own-sessions.tsx")).OwnSessions }));
const TenantSwitch = lazy(async () => ({ default: (await import("./tenant-switch.tsx")).TenantSwitch }));
const ShortcutList = lazy(async () => ({ default: (await import("./shortcut-list.tsx")).ShortcutList }));

type Over = "palette" | "shortcuts" | "sessions" | null;

/** Navigation, search and account around a page. */
export function Frame({
  user,
  build,
  hasDeployments,
  children,
}: {
  readonly user: SessionUser;
  readonly build: string | null;
  /** Otherwise the navigation does not lead to them; the search does. */
  readonly hasDeployments: boolean;
  readonly children: ReactNode;
}) {
  const [isOpen, setOpen] = useState(false);
  const [over, setOver] = useState<Over>(null);
  const { pathname } = useLocation();
  const main = useRef<HTMLElement>(null);
  const seen = useRef(pathname);
  useEffect(() => {
    if (seen.current === pathname) return;
    seen.current = pathname;
    setOpen(false);
    main.current?.focus({ preventScroll: true });
  }, [pathname]);
  const isIn = user.status === "active";
  useShortcut("mod+k", (event) => {
    event.preventDefault();
    if (isIn) setOver("palette");
  });
  useShortcut("?", () => setOver("shortcuts"));
  useShortcut("/", (event) => {
    const filter = document.querySelector<HTMLElement>("[data-page-filter]");
    if (filter === null) return;
    event.preventDefault();
    filter.focus();
  });
  return (
    <div className={classes["frame"]}>
      <a className={classes["skip"]} href="#main">
        {text("skip")}
      </a>
      <header className={classes["top"]}>
        <span className={classes["menuButton"]}>
          <IconButton
            label={text(isOpen ? "closeNavigation" : "openNavigation")}
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? <X size={18} aria-hidden /> : <MenuIcon size={18} aria-hidden />}
          </IconButton>
        </span>
        <Link to="/" className={classes["product"]}>
          <Mark />
          {text("product")}
        </Link>
        <div className={classes["topEnd"]}>
          {isIn && (
            <Button
              icon={<Search size={14} aria-hidden />}
              onClick={() => setOver("palette")}
              className={classes["search"] ?? ""}
            >
              {text("search")} <kbd>{isMac() ? "⌘K" : "Ctrl K"}</kbd>
            </Button>
          )}
          {user.tenants.length > 1 && (
            <Suspense fallback={null}>
              <TenantSwitch user={user} />
            </Suspense>
          )}
          <Account
            user={user}
            onSessions={isIn ? () => setOver("sessions") : null}
            onShortcuts={() => setOver("shortcuts")}
          />
        </div>
      </header>
      {isIn && (
        <nav className={classes["nav"]} aria-label={text("navigation")} data-open={isOpen}>
          {navigationOf(user, hasDeployments ? [] : ["/deployments"]).map((group) => (
            <ul key={group[0]?.to}>
              {group.map(({ to, text: id, icon: Icon }) => (
                <li key={to}>
                  <Link
                    to={to}
                    activeOptions={{ exact: to === "/" || to === "/portal", includeSearch: false }}
                    className={classes["link"]}
                    activeProps={{ "aria-current": "page" }}
                  >
                    <Icon size={16} aria-hidden />
                    {pageName(id)}
                  </Link>
                </li>
              ))}
            </ul>
          ))}
        </nav>
      )}
      <main id="main" ref={main} tabIndex={-1} className={classes["main"]}>
        <NewBuild build={build} />
        {children}
      </main>
      <Suspense fallback={null}>
        {over === "palette" && <Palette user={user} onClose={() => setOver(null)} />}
        {over === "sessions" && <OwnSessions user={user} onClose={() => setOver(null)} />}
        {over === "shortcuts" && <ShortcutList onClose={() => setOver(null)} />}
      </Suspense>
    </div>
  );
}

/** Who has signed in, the appearance, and the way out. */
function Account({
  user: { email, grantedRole: role },
  onSessions,
  onShortcuts,
}: {
  readonly user: SessionUser;
  readonly onSessions: (() => void) | null;
  readonly onShortcuts: () => void;
}) {
  const signOut = useSignOut();
  const [theme, setTheme] = useState(storedTheme);
  const density = useDensity();
  const id = useId();
  const choose = (chosen: Theme): void => {
    applyTheme(chosen);
    setTheme(chosen);
  };
  return (
    <>
      <IconButton label={text("account")} popoverTarget={id}>
        <CircleUserRound size={18} aria-hidden />
      </IconButton>
      <div id={id} popover="auto" className={classes["account"]}>
        <p className={classes["email"]}>{text("signedInAs", { email, role })}</p>
        <SelectField
          label={text("theme")}
          value={theme}
          onChange={(event) => choose(THEMES.find((one) => one === event.target.value) ?? "system")}
          choices={[
            { value: "system", label: text("themeSystem") },
            { value: "light", label: text("themeLight") },
            { value: "dark", label: text("themeDark") },
          ]}
        />
        <SelectField
          label={text("density")}
          value={density}
          onChange={(event) => applyDensity(event.target.value === "compact" ? "compact" : "comfortable")}
          choices={DENSITIES.map((value) => ({ value, label: text(`density_${value}`) }))}
        />
        <Button tone="quiet" popoverTarget={id} popoverTargetAction="hide" onClick={onShortcuts}>
          {text("shortcuts")}
        </Button>
        {onSessions !== null && (
          <Button tone="quiet" popoverTarget={id} popoverTargetAction="hide" onClick={onSessions}>
            {text("sessions")}
          </Button>
        )}
        <Button onClick={() => void signOut()}>{text("signOut")}</Button>
      </div>
    </>
  );
}

/** Tells that the server hands out another build than the one that runs here. */
function NewBuild({ build }: { readonly build: string | null }) {
  const running = document.documentElement.dataset["build"];
  if (build === null || running === undefined || build === running) return null;
  return (
    <Notice tone="warn">
      {text("newBuild")} <Button onClick={() => location.reload()}>{text("reload")}</Button>
    </Notice>
  );
}

function isMac(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.userAgent);
}
