/** Files of the node, handed to the downloads of the browser: read in sealed calls, never by a link that others answer. */
import { downloadZip } from 'client-zip'
import { distinctFileNames, fileName } from '../../protocol/encoding/file-names.ts'
import { NodeRefused } from '../../view/node-client.ts'
import type { Peer } from './peer.ts'

/** The browser has begun to save it by then. */
const SAVING_MS = 60_000

export type NodeFile = { path: () => Promise<string>; name: string }
export type Save = {
  /** Saves words as a file. */
  text(text: string, name: string): void
  /** Saves one file under its name. */
  one(file: NodeFile): Promise<void>
  /** Saves files as one archive, in which each has a name of its own; `onFile` hears of each that is in it. */
  all(files: readonly NodeFile[], archive: string, onFile: () => void): Promise<void>
}

/** Saves what the node gives, whole or not at all. */
export function saveWith(peer: Peer): Save {
  const read = async ({ path }: NodeFile): Promise<Response> => {
    const answer = await peer.fetch(await path())
    if (!answer.ok) throw new NodeRefused('file_unreadable', 'the node did not give the file')
    return answer
  }
  async function* entries(files: readonly NodeFile[], onFile: () => void) {
    const names = distinctFileNames(files.map(({ name }) => name))
    for (const [i, file] of files.entries()) {
      yield { name: names[i], input: await (await read(file)).blob() }
      onFile()
    }
  }
  return {
    text: (text, name) => handOver(new Blob([text], { type: 'text/plain' }), fileName(name)),
    one: async file => handOver(await (await read(file)).blob(), fileName(file.name)),
    // a browser saves no more than ten files that nobody asked for one by one
    all: async (files, archive, onFile) =>
      handOver(await downloadZip(entries(files, onFile)).blob(), archive),
  }
}

function handOver(content: Blob, name: string): void {
  const place = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = place
  link.download = name
  link.rel = 'noopener noreferrer'
  link.click()
  setTimeout(() => URL.revokeObjectURL(place), SAVING_MS)
}
