/** The files of a stopped node: what its next start could not read. Nothing is written. */
import { join } from 'node:path'
import { ChainRefused, examineChainFile, StoreBehind } from '../../daemon/chain/file.ts'
import { type Identity, IdentityDamaged, readIdentity } from '../../daemon/identity/identity.ts'
import { requireReadableKeys } from '../../daemon/identity/mailbox-keys.ts'
import { NotReadable } from '../../daemon/platform/files.ts'
import { peekStore, StoreError } from '../../daemon/store/open.ts'
import { type Finding, ok, wrong } from '../../protocol/encoding/finding.ts'

/** Mailbox keys, store and evidence chain, where there is an identity that they belong to. */
export async function checkParts(dir: string): Promise<Finding[]> {
  const identity = readIdentity(dir, { now: Date.now, random: length => new Uint8Array(length) })
  if (identity === undefined) return []
  return [checkKeys(dir), await checkRecords(dir, identity)]
}

function checkKeys(dir: string): Finding {
  const path = join(dir, 'mailbox.keys')
  try {
    requireReadableKeys(dir)
    return ok('mailbox keys', 'can be read')
  } catch (error) {
    if (!(error instanceof IdentityDamaged)) throw error
    return wrong('mailbox keys', error.message, `put a backup of ${path} back, or remove it for new keys`)
  }
}

const mendChain = (path: string, { isFileAlone }: ChainRefused) =>
  isFileAlone ? `mv ${path} ${path}.altered && svc up` : `put a backup of ${path} back`

async function checkRecords(dir: string, identity: Identity): Promise<Finding> {
  const path = join(dir, 'evidence.ael.jsonl')
  const folder = join(dir, 'interactions')
  try {
    using undo = new DisposableStack()
    const store = peekStore(dir)
    if (store === undefined) return ok('records', 'the next start brings the store up to this release')
    undo.defer(() => store.close())
    await examineChainFile(path, store, identity)
    return ok('records', 'store and evidence chain agree')
  } catch (error) {
    if (error instanceof StoreBehind) return wrong('records', error.message, 'svc evidence import && svc up')
    if (error instanceof ChainRefused) return wrong('records', error.message, mendChain(path, error))
    if (error instanceof StoreError) return wrong('records', error.message, `put a backup of ${folder} back`)
    if (error instanceof NotReadable)
      return wrong('records', `${path}: ${error.message}`, `rm ${path} && svc up`)
    throw error
  }
}
