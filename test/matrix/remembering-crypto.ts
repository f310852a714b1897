/**
 * The engine of the node, which answers from memory what it was asked before: hundreds of cells start the same nodes and
 * sign the same bytes. Only what depends on nothing but its input is remembered, and each answer is computed once.
 */
import * as engine from '../../protocol/crypto/engine.node.ts'
import { concat } from '../../protocol/encoding/bytes.ts'

// everything else is the engine's own
export * from '../../protocol/crypto/engine.node.ts'

const nameOf = (...inputs: readonly Uint8Array[]): string =>
  `${inputs.map(({ length }) => length).join()} ${engine.sha256Hex(concat(...inputs))}`

function remembered<In extends readonly Uint8Array[], Out>(
  compute: (...inputs: In) => Out,
  known = new Map<string, Out>(),
): (...inputs: In) => Out {
  return (...inputs) => {
    const name = nameOf(...inputs)
    const found = known.get(name)
    if (found !== undefined) return found
    const made = compute(...inputs)
    known.set(name, made)
    return made
  }
}

/** The same for bytes, which belong to whoever asked. */
function rememberedBytes<In extends readonly Uint8Array[]>(
  compute: (...inputs: In) => Uint8Array,
): (...inputs: In) => Uint8Array {
  const answer = remembered(compute)
  return (...inputs) => answer(...inputs).slice()
}

/** One array for a secret key, however often it is read: the engine knows a key that it has imported by its array. */
const sameArray = remembered((seed: Uint8Array) => seed.slice())

export const publicKey: typeof engine.publicKey = rememberedBytes(seed => engine.publicKey(sameArray(seed)))

const verified = new Map<string, boolean>()
export const verify: typeof engine.verify = remembered(engine.verify, verified)

/** What was signed here holds. */
export const sign: typeof engine.sign = rememberedBytes((seed, message) => {
  const signature = engine.sign(sameArray(seed), message)
  verified.set(nameOf(publicKey(seed), message, signature), true)
  return signature
})

export const mlkemPublicKey: typeof engine.mlkemPublicKey = rememberedBytes(seed =>
  engine.mlkemPublicKey(sameArray(seed)),
)
export const mlkemDecapsulate: typeof engine.mlkemDecapsulate = rememberedBytes((seed, ciphertext) =>
  engine.mlkemDecapsulate(sameArray(seed), ciphertext),
)

export const x25519: typeof engine.x25519 = remembered(seed => {
  const pair = engine.x25519(sameArray(seed))
  return { publicKey: pair.publicKey, agree: rememberedBytes(pair.agree) }
})
