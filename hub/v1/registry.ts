/** Joining, profile, visibility, direct address and leaving. */
import { fromBase64 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Hub } from '../core/hub.ts'
import type { Part } from './handler.ts'

type Names = 'register' | 'profile' | 'visibility' | 'deregister' | 'publishAddress'

const UNDELIVERED = 'mail waits that you did not collect; it is kept for 30 days, for when you register again'

export function registryHandlers({ openJoining }: Hub): Part<Names> {
  return {
    async register({ body, address, verifySigner }) {
      const { aid, kel, name, caps, summary, readme, pricing, invite, card } = body
      const { guest_messages: guestQuota } = body
      const profile = present({ name, caps, summary, readme })
      const given = { aid, kel: fromBase64(kel), profile, pricing, invite, card, guestQuota }
      await openJoining.register(given, address, verifySigner)
      return { aid, status: 'registered' as const }
    },
    async profile({ signer, body: { summary, readme, pricing } }) {
      const { aid } = signer.log
      await openJoining.update(aid, present({ summary, readme, pricing }))
      return { aid, status: 'profile_updated' as const }
    },
    async visibility({ signer, body: { visibility } }) {
      const { aid } = signer.log
      await openJoining.setVisibility(aid, visibility)
      return { aid, status: 'visibility_set' as const, visibility }
    },
    async deregister({ signer }) {
      const { aid } = signer.log
      const undelivered = await openJoining.leave(aid)
      const answer = { aid, status: 'deregistered' as const, undelivered }
      return undelivered === 0 ? answer : { ...answer, warning: UNDELIVERED }
    },
    async publishAddress({ signer, body: { addr } }) {
      await openJoining.update(signer.log.aid, { address: addr })
      return { status: addr === '' ? ('withdrawn' as const) : ('published' as const) }
    },
  }
}
