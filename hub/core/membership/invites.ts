/**
 * Invitations: the operator hands out a code, and whoever shows it first becomes a new account. The hub keeps the hash of
 * a code, which nobody can turn back, and shows the beginning of that as its name.
 */
import { labelledHash } from '../../../protocol/crypto/hash.ts'
import { toBase64url, toHex, utf8 } from '../../../protocol/encoding/bytes.ts'
import type { Invite } from '../../store/invite-port.ts'
import type { HubContext } from '../context.ts'
import { DAY_MS } from '../limits.ts'
import { Refusal, withoutRoom } from '../refusal.ts'

const LABEL = 'svc-hub-invite/v1'
const CODE_BYTES = 16
const NAME_CHARACTERS = 8
const INVITES_MAX = 10_000

/** One as its operator sees it: never the code. */
export type ShownInvite = Omit<Invite, 'hash'> & { name: string }

export class Invites {
  readonly #context: Pick<HubContext, 'store' | 'now' | 'random'>

  constructor(context: Pick<HubContext, 'store' | 'now' | 'random'>) {
    this.#context = context
  }

  /** Makes one; its code is told this once. */
  async make(days: number): Promise<ShownInvite & { code: string }> {
    const { store, now, random } = this.#context
    const code = toBase64url(random(CODE_BYTES))
    const hash = hashOf(code)
    const madeMs = now()
    const untilMs = madeMs + days * DAY_MS
    if (!(await store.addInvite({ hash, madeMs, untilMs, max: INVITES_MAX })))
      throw withoutRoom('more invitations')
    return { ...shown({ hash, madeMs, untilMs, usedBy: undefined }), code }
  }

  async all(): Promise<ShownInvite[]> {
    return (await this.#context.store.invites()).map(shown)
  }

  /** Takes one back by its name; false where nobody could use it any more. */
  async revoke(name: string): Promise<boolean> {
    const { store } = this.#context
    const found = (await store.invites()).filter(one => shown(one).name === name)
    const [one] = found
    return one !== undefined && found.length === 1 && (await store.removeInvite(one.hash))
  }

  /** The hash of a code that lets in a new account now; refuses any other, whatever is wrong with it. */
  async checked(code: string): Promise<Uint8Array> {
    const hash = hashOf(code)
    const held = await this.#context.store.invite(hash)
    if (held === undefined || held.usedBy !== undefined || held.untilMs <= this.#context.now())
      throw inviteGone()
    return hash
  }
}

/** A code that lets nobody in: unknown, used, over, or taken back. */
export const inviteGone = (): Refusal => new Refusal('inviteInvalid')

const hashOf = (code: string): Uint8Array => labelledHash(LABEL, utf8(code))

const shown = ({ hash, ...invite }: Invite): ShownInvite => ({
  name: toHex(hash).slice(0, NAME_CHARACTERS),
  ...invite,
})
