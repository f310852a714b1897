/** How the operator's surface tells what is refused: as wire 1 does, and with 429 for who tries or deletes too often. */

import { refusalOf } from '../../core/refusal.ts'
import type { RefusalAnswer } from '../../http/pipeline.ts'
import { refusalAnswer, refusalTold, type ToldRefusal } from '../refusals.ts'

const NOT_HERE = 'nothing is at this address; the operator finds the page at the base of this listener'

/** The kind of failure of anything thrown, with its sentence; undefined for a bug. */
export function adminTold(thrown: unknown): ToldRefusal | undefined {
  const refusal = refusalOf(thrown)
  if (refusal?.code === 'rateLimited') {
    const { why = 'too much was asked', ...facts } = refusal.facts
    return { code: 'limited', facts: { ...facts, sentence: `${why}; try again later` } }
  }
  if (refusal?.code === 'resourceUnknown') return { code: 'unknown', facts: { sentence: NOT_HERE } }
  return refusalTold(thrown)
}

export const adminAnswer = (told: ToldRefusal): RefusalAnswer => refusalAnswer(told)
