/** Orders about invitations, by which new agents join whose mail the hub can read. */
import { present } from '../../protocol/encoding/present.ts'
import type { ShownInvite } from '../core/membership/invites.ts'
import { StoreRefused } from '../store/port.ts'
import { momentOf, type OperatorContext, type OrderOf, type OrderResult } from './order-shapes.ts'

const DAYS_USUAL = 30

/** Makes one, takes one back, or lists all; a code is told once, when it is made. */
export async function invites(
  { make, revoke }: OrderOf<'invites'>,
  { invites: kept, now, invitesUnusable: note }: OperatorContext,
): Promise<OrderResult> {
  const members = (invite: ShownInvite) => membersAt(invite, now())
  if (make !== undefined) {
    const { code, ...made } = await kept.make(make.days ?? DAYS_USUAL)
    return { code, ...members(made), ...present({ note }) }
  }
  if (revoke !== undefined) {
    if (!(await kept.revoke(revoke)))
      throw new StoreRefused(
        `no invitation ${revoke} can be used any more; list them with: svc-hub invite ls`,
      )
    return { name: revoke, state: 'revoked' }
  }
  return { invites: (await kept.all()).map(members) }
}

const membersAt = ({ name, madeMs, untilMs, usedBy }: ShownInvite, nowMs: number): OrderResult => ({
  name,
  state: usedBy !== undefined ? 'used' : untilMs <= nowMs ? 'over' : 'open',
  made: momentOf(madeMs),
  until: momentOf(untilMs),
  ...present({ used_by: usedBy }),
})
