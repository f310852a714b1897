/** The secret behind the salts of liability proofs: drawn once, kept in the store, and so part of every backup. */
import { fromHex, toHex } from '../../../protocol/encoding/bytes.ts'
import type { HubContext } from '../context.ts'

const SETTING = 'liability_secret'
const BYTES = 32

export async function liabilitySecret({
  store,
  random,
}: Pick<HubContext, 'store' | 'random'>): Promise<Uint8Array> {
  const held = await store.setting(SETTING)
  if (held !== undefined) return fromHex(held)
  const secret = random(BYTES)
  await store.putSetting(SETTING, toHex(secret))
  return secret
}
