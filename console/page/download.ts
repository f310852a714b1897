/** Files of the node, handed to the downloads of the browser: read in a sealed call, never by a link that others answer. */
import { fileName } from '../../protocol/encoding/file-names.ts'
import { NodeRefused } from '../../view/node-client.ts'
import type { Peer } from './peer.ts'

/** The browser has begun to save it by then. */
const SAVING_MS = 60_000

export type Save = (path: string, name: string) => Promise<void>

/** Saves what the node gives at a path, whole or not at all. */
export function saveWith(peer: Peer): Save {
  return async (path, name) => {
    const answer = await peer.fetch(path)
    if (!answer.ok) throw new NodeRefused('file_unreadable', 'the node did not give the file')
    const place = URL.createObjectURL(await answer.blob())
    const link = document.createElement('a')
    link.href = place
    link.download = fileName(name)
    link.rel = 'noopener noreferrer'
    link.click()
    setTimeout(() => URL.revokeObjectURL(place), SAVING_MS)
  }
}
