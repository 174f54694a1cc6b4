/** Texts of the dialog of fairshare groups. */
export const groupsTexts = {
  title: "Fairshare groups",
  about:
    "Tenants of a group share its slots. Set a tenant's group on its page. A new group has the weight {weight}.",
  failed: "Could not load the groups.",
  name: "Name",
  weight: "Weight",
  actions: "Actions",
  rename: "Rename",
  renameOf: "Rename group {name}",
  newName: "New name of group {name}",
  renamed: "Group {from} is now {to}",
  renameFailed: "Group {name} was not renamed",
  delete: "Delete",
  deleteOf: "Delete group {name}",
  deleted: "Group {name} deleted",
  deleteFailed: "Group {name} was not deleted",
  newGroup: "New group",
  create: "Create",
  created: "Group {name} created",
  createFailed: "Group {name} was not created",
} as const;
