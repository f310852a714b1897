/** What a reader of a listing asks for, as text: capability tags, and where to go on. */
import { CAPS_MAX } from '../../protocol/contract/limits.ts'
import { capTag } from '../../protocol/contract/shapes.ts'
import { isAid } from '../../protocol/identity/aid.ts'
import { Refusal } from './refusal.ts'

/** The tags of a `cap` query: separated by commas, each a tag or a family that ends in `*`; none of them empty. */
export function capsOf(cap: string | undefined): string[] | undefined {
  if (cap === undefined) return undefined
  const caps = cap.split(',')
  if (caps.length > CAPS_MAX || !caps.every(tag => capTag.safeParse(tag).success))
    throw new Refusal('requestMalformed', {
      why: 'cap must be one or more capability identifiers separated by commas',
    })
  return caps
}

/** A cursor is the last AID of the page before; opaque to clients. */
export function afterAid(cursor: string | undefined): string {
  if (cursor === undefined) return ''
  const aid = Buffer.from(cursor, 'base64url').toString('latin1')
  if (!isAid(aid)) throw new Refusal('requestMalformed', { why: 'the cursor was not issued by this hub' })
  return aid
}

/** The cursor of the page after this AID. */
export const cursorOf = (aid: string): string => Buffer.from(aid).toString('base64url')
