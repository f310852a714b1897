/** Where a hub keeps what it has: all of it in its data directory, or its rows in a database. */
import type { Config } from './config.ts'
import { type DataDirectory, type DataDirectoryOptions, openDataDirectory } from './data-dir.ts'

export async function openHub(
  { dataDir: directory, database }: Pick<Config, 'dataDir' | 'database'>,
  options: Omit<DataDirectoryOptions, 'directory'>,
): Promise<DataDirectory> {
  if (database === undefined) return await openDataDirectory({ ...options, directory })
  const { openOverDatabase } = await import('./over-database.ts')
  return await openOverDatabase({ ...options, directory, database })
}
