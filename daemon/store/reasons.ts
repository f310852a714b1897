/** Why something is as it is, kept for whoever reads it, and whose words that is. Nothing is decided by the sentence. */

/** A sentence of this node, or one that a hub (or the other side of a task) may have a word in. */
export type Reason<By extends 'hub' | 'peer'> = { reason: string; reasonBy: 'node' | By }

/** Every word of it is of this node. */
export const ownReason = (reason: string) => ({ reason, reasonBy: 'node' }) as const
export const reasonOfHub = (reason: string) => ({ reason, reasonBy: 'hub' }) as const
export const reasonOfPeer = (reason: string) => ({ reason, reasonBy: 'peer' }) as const
export const noReason = { reason: null, reasonBy: null } as const
