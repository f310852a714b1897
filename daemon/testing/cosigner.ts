/** A witness of transparency logs, for tests: its verifier key, and its cosignatures of a hub's supply chain. */
import { publicKey, sha256, sign } from '#crypto'
import { concat, toBase64, toHex, utf8 } from '../../protocol/encoding/bytes.ts'
import { checkpointText } from '../../protocol/proof/checkpoint.ts'

export function cosigner(name: string) {
  const seed = new Uint8Array(32).fill(name.length)
  const typed = concat(Uint8Array.of(4), publicKey(seed))
  const hash = sha256(concat(utf8(`${name}\n`), typed)).subarray(0, 4)
  const lineOver = (origin: string, tree: { size: number; root: Uint8Array }, seconds: number): string => {
    const time = new Uint8Array(8)
    new DataView(time.buffer).setBigUint64(0, BigInt(seconds))
    const signed = `cosignature/v1\ntime ${seconds}\n${checkpointText(origin, tree)}`
    return `— ${name} ${toBase64(concat(hash, time, sign(seed, utf8(signed))))}\n`
  }
  return { name, key: `${name}+${toHex(hash)}+${toBase64(typed)}`, lineOver }
}
