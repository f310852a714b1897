/**
 * Signs that a newer copy of this directory exists or existed: a head of the chain, kept on this machine or signed by
 * this identity and given back by a correspondent, that this chain does not reach or contradicts.
 */

import { equal } from '../../protocol/encoding/bytes.ts'
import { aidBytes, aidText } from '../../protocol/identity/aid.ts'
import type { SignedHead } from '../../protocol/proof/held-head.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import type { Store } from '../store/open.ts'
import type { Chain } from './chain.ts'

const NOT_CONTRADICTED = { contradictingPeer: null, contradictingLength: null, contradictingId: null }

type HeadPlace = Pick<SignedHead, 'length' | 'id'>

const isOn = (chain: Chain, { length, id }: HeadPlace): boolean => {
  const own = chain.idAt(length)
  return own !== undefined && equal(own, id)
}

/** What is wrong with this directory, where `seen` says who had seen how much. */
export function sayOldCopy(chain: Chain, length: number, seen: string): string {
  const found = chain.length < length ? `ends at record ${chain.length}` : 'holds another record there'
  return `${seen} and this directory ${found}: it is an old copy; stop the node and put the newest copy in its place, or, if that is lost, run svc evidence accept`
}

/** The same of a head that a correspondent holds. */
export function sayHeldBy(name: string, chain: Chain, { length }: HeadPlace): string {
  return sayOldCopy(
    chain,
    length,
    `${name} holds this identity's signature under record ${length} of its evidence chain`,
  )
}

/** Whether a head that this identity signed shows a newer copy than this one. */
export function isContradicted(chain: Chain, store: Store, head: SignedHead): boolean {
  if (chain.isQuarantined || isOn(chain, head)) return false
  const length = lasting(store, 'lostBeyond')
  const kelSeq = lasting(store, 'lostKelSeq')
  if (length === undefined || kelSeq === undefined) return true
  return head.length <= length || head.kelSeq > kelSeq
}

export function rememberContradicted(store: Store, peer: string, { length, id }: HeadPlace): void {
  keepLasting(store, { contradictingPeer: aidBytes(peer), contradictingLength: length, contradictingId: id })
}

/** Why this is an old copy, if a correspondent showed it one and the chain has not been completed since. */
export function behindPeer(chain: Chain, store: Store, nameOf: (aid: string) => string): string | undefined {
  const peer = lasting(store, 'contradictingPeer')
  const length = lasting(store, 'contradictingLength')
  const id = lasting(store, 'contradictingId')
  if (peer === undefined || length === undefined || id === undefined) return undefined
  if (!isOn(chain, { length, id })) return sayHeldBy(nameOf(aidText(peer)), chain, { length, id })
  keepLasting(store, NOT_CONTRADICTED)
  return undefined
}

/** The newer copy is lost: what it signed beyond this length counts no more, as long as it was under a key up to this. */
export function loseHeads(store: Store, length: number, kelSeq: number): void {
  const least = lasting(store, 'lostBeyond') ?? length
  keepLasting(store, { lostBeyond: Math.min(least, length), lostKelSeq: kelSeq, ...NOT_CONTRADICTED })
}
