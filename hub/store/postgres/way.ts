/** Ways to the database of a hub: connections for its rows, and the one that lasts. */
import { type Connections, connectTo } from './connections.ts'
import { type Link, openLink } from './link.ts'

/** `listenUrl` reaches it without a pooler, `passwordFile` holds the password of its role. */
export type DatabaseWay = { url: string; listenUrl?: string | undefined; passwordFile?: string | undefined }

export const connectionsTo = ({ url, passwordFile }: DatabaseWay): Connections =>
  connectTo(url, { passwordFile })

/** No pooler may stand in this one. */
export const linkTo = ({ url, listenUrl, passwordFile }: DatabaseWay): Promise<Link> =>
  openLink(listenUrl ?? url, { passwordFile })
