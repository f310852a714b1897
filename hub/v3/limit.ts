/** How many rows a request asks for. */
import { Refusal } from '../core/refusal.ts'

export function limitOf(given: string | undefined, usual: number, max: number): number {
  const limit = Number(given ?? usual)
  if (limit < 1 || limit > max)
    throw new Refusal('requestMalformed', { why: `limit must be from 1 to ${max}` })
  return limit
}
