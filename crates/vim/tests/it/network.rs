//! The transport on a loopback socket.
