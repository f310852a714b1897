/** Whether anything may be signed: an ended identity and an older copy of one sign nothing. */
import type { Context } from '../context.ts'

export const maySign = ({ identity, hub }: Pick<Context, 'identity' | 'hub'>): boolean =>
  !identity.log.deactivated && hub.oldCopy === undefined && hub.unsettled === undefined
