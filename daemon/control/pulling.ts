/** What an interaction holds, as files in a folder of the user. */
import { lstatSync, rmdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Attachments } from '../attachments/attachments.ts'
import {
  attachmentFileName,
  documentNames,
  refuseUnwritten,
  type Saved,
  saveBytes,
} from '../attachments/file-names.ts'
import { makeFolders } from '../platform/folders.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { keysWithFiles } from '../store/transcripts.ts'
import { documentsOf } from '../tasks/documents.ts'

/** A folder and those above it that are not there, the deepest first. */
function absentFolders(directory: string): string[] {
  const above = dirname(directory)
  if (above === directory || lstatSync(directory, { throwIfNoEntry: false }) !== undefined) return []
  return [directory, ...absentFolders(above)]
}

function removeEmpty(folders: readonly string[]): void {
  try {
    for (const folder of folders) rmdirSync(folder)
  } catch {
    // one that holds something stays, with those above it
  }
}

const savedView = ({ path, wasThere }: Saved) => ({
  path,
  ...present({ already_there: wasThere || undefined }),
})

export class TaskFiles {
  readonly #store: Store
  readonly #threads: Threads
  readonly #attachments: Attachments

  constructor(store: Store, threads: Threads, attachments: Attachments) {
    this.#store = store
    this.#threads = threads
    this.#attachments = attachments
  }

  /** Saves attachments and both documents as files; a folder that was made for nothing goes again. */
  save(interaction: Interaction, out: string) {
    const directory = resolve(out)
    const absent = absentFolders(directory)
    try {
      makeFolders(directory)
    } catch (error) {
      removeEmpty(absent)
      refuseUnwritten(`cannot write to ${directory}`, error)
    }
    try {
      return this.#saveAll(interaction, directory)
    } catch (error) {
      removeEmpty(absent)
      throw error
    }
  }

  #saveAll(interaction: Interaction, directory: string) {
    const files = keysWithFiles(this.#store, interaction.key).flatMap(message =>
      this.#threads.attachmentsOf(message).map(({ name, mediaType, size, cid }) => ({
        name: attachmentFileName(name),
        media_type: mediaType,
        bytes: size,
        cid: cidText(cid),
        ...savedView(this.#attachments.saveAs(cidText(cid), directory, name)),
      })),
    )
    const { request, result } = documentsOf(this.#store, this.#threads, interaction)
    const named = [
      { name: documentNames.request, bytes: request },
      { name: documentNames.result, bytes: result },
    ]
    const documents = named.flatMap(({ name, bytes }) => (bytes === undefined ? [] : [{ name, bytes }]))
    const saved = documents.map(({ name, bytes }) => ({
      name,
      media_type: 'application/json',
      bytes: bytes.length,
      cid: cidText(contentId(bytes)),
      ...savedView(saveBytes(bytes, directory, name)),
    }))
    const pathOf = (name: string) => saved.find(document => document.name === name)?.path
    return {
      interaction_id: interaction.id,
      out: directory,
      files: [...files, ...saved],
      ...present({ request_file: pathOf(documentNames.request), result_file: pathOf(documentNames.result) }),
    }
  }
}
