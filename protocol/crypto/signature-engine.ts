/**
 * Which engine checks many signatures: libsodium through `sodium-native`, twice as fast, where it is installed and gives
 * our verdict on every edge of Ed25519; else the engine of the machine. Both are strict, and nothing but speed differs.
 */
import { verify } from '#crypto'
import { systemCode } from '../encoding/errors.ts'
import { goldenVerdicts } from './golden-verdicts.ts'

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64

/** Key of 32 bytes, signature of 64; the verdict is that of objects §3. */
export type Verify = (key: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean
/** `node:crypto` is the engine of the machine, `sodium-native` the optional faster one. */
export type EngineName = 'node:crypto' | 'sodium-native'
/** The engine in use, and why it isn't the faster one. */
export type EngineChoice = { name: EngineName; why: string | undefined }
/** An engine with its check, which gives the verdicts of objects §3. */
export type SignatureEngine = EngineChoice & { verify: Verify }

type Sodium = {
  crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, key: Uint8Array): boolean
}

/** Loads the optional engine as a module is loaded there; throws where it isn't there or doesn't fit this machine. */
function loadSodium(load: (name: string) => unknown): Verify {
  const sodium = load('sodium-native') as Sodium
  return (key, message, signature) =>
    key.length === KEY_BYTES &&
    signature.length === SIGNATURE_BYTES &&
    sodium.crypto_sign_verify_detached(signature, message, key)
}

/** The engine of the machine; `why` says why it is not the faster one. */
export function standardEngine(why: string): SignatureEngine {
  return { name: 'node:crypto', why, verify }
}

/** The engine to use for whoever loads modules with `load`; chosen once, at the start of whatever verifies. */
export const installedEngine = (load: (name: string) => unknown): SignatureEngine =>
  chooseEngine(() => loadSodium(load))

/** The engine that is loaded where it gives our verdicts, else the machine's. */
export function chooseEngine(load: () => Verify): SignatureEngine {
  let fast: Verify
  try {
    fast = load()
  } catch (error) {
    const missing = systemCode(error) === 'MODULE_NOT_FOUND'
    return standardEngine(
      missing ? 'sodium-native is not installed' : 'sodium-native does not load on this machine',
    )
  }
  const differing = goldenVerdicts.find(golden => !agrees(fast, golden))
  if (differing !== undefined) return standardEngine(`sodium-native differs on: ${differing.name}`)
  return { name: 'sodium-native', why: undefined, verify: fast }
}

function agrees(verdict: Verify, { key, message, signature, holds }: (typeof goldenVerdicts)[0]): boolean {
  try {
    return verdict(key, message, signature) === holds
  } catch {
    return false
  }
}
