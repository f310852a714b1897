/** The setting that names witnesses of transparency logs, to which the hub offers its checkpoints. */
import * as z from 'zod'
import { Malformed } from '../protocol/encoding/bytes.ts'
import { parseVerifierKey } from '../protocol/proof/cosignature.ts'
import { ConfigRefused } from './config-refused.ts'
import type { LogWitness } from './core/supply/checkpoints.ts'

const WITNESSES_MAX = 16
const URL_CHARS_MAX = 256

export const checkpointShape = {
  checkpoint_witnesses: z
    .array(z.strictObject({ url: z.string().max(URL_CHARS_MAX), key: z.string() }))
    .max(WITNESSES_MAX)
    .optional(),
}

/** Each with its key read, and no name twice. */
export function logWitnessesOf(
  given: readonly { url: string; key: string }[] = [],
  path: string,
): LogWitness[] {
  const place = `${path}: checkpoint_witnesses`
  const witnesses = given.map(({ url, key }) => {
    if (!/^https?:\/\/[^\s\p{C}]+$/u.test(url) || !URL.canParse(url))
      throw new ConfigRefused(
        `${place}: expected a URL, got ${url}`,
        'write it as https://witness.example/prefix',
      )
    return { url, cosigner: cosignerOf(key, place) }
  })
  const names = witnesses.map(({ cosigner }) => cosigner.name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new ConfigRefused(`${place}: ${twice} stands there twice`, 'remove one')
  return witnesses
}

function cosignerOf(key: string, place: string): LogWitness['cosigner'] {
  try {
    return parseVerifierKey(key)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw new ConfigRefused(
      `${place}: ${error.message}`,
      "give the witness's own verifier key, such as witness.example+1a2b3c4d+BPdK…",
    )
  }
}
