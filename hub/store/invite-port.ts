/** Invitations: codes of which a hub keeps the hash alone, each for one new account. */
export type Invite = {
  hash: Uint8Array
  madeMs: number
  untilMs: number
  /** The account that came by it. */
  usedBy: string | undefined
}

export interface InviteStore {
  /** Keeps an invitation; false where so many stand already. */
  addInvite(given: { hash: Uint8Array; madeMs: number; untilMs: number; max: number }): Promise<boolean>
  invite(hash: Uint8Array): Promise<Invite | undefined>
  /** All of them, the oldest first. */
  invites(): Promise<Invite[]>
  /** Takes one back that nobody has used; false where there is none. */
  removeInvite(hash: Uint8Array): Promise<boolean>
}
