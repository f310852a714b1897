/**
 * Whether anything may be signed, or only asked: an ended identity and an older copy of one sign nothing, and nothing is
 * paid before the hub was asked whether this is one.
 */
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'

export const maySign = (identity: Identity, hub: CurrentHub): boolean =>
  !identity.log.deactivated && mayAsk(hub)

/** An ended identity still asks what became of what it signed before. */
export const mayAsk = (hub: CurrentHub): boolean =>
  hub.oldCopy === undefined && hub.unsettled === undefined && hub.unasked === undefined
