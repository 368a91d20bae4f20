"""Make and read the certificates that control who may join a cluster, for Dask's TLS.

Without TLS, anyone who can reach a Dask scheduler or worker can run code there as the user who started it.
With TLS, both ends of a connection show a certificate. Each end accepts only certificates that the cluster's
own authority has signed. One folder contains all files that a scheduler, its workers and its clients need.
Anyone who can read the folder can join the cluster.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from bfsbench.support.errors import InputError, ToolchainError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.x509 import Certificate
    from distributed import Security

DAYS = 365
_NAME = "bfsbench cluster"


@dataclass(frozen=True)
class Certificates:
    """A folder of three files, with which a process of a cluster proves that it may join.

    The files are the certificate of an authority, a certificate that the authority has signed, and the
    private key of the signed certificate.
    """

    folder: Path

    @property
    def files(self) -> tuple[Path, Path, Path]:
        """The paths of the authority's certificate, of the signed certificate, and of its private key."""
        return self.folder / "ca.pem", self.folder / "cert.pem", self.folder / "key.pem"

    @classmethod
    def of(cls, folder: Path) -> Certificates:
        """Return the certificates in a folder.

        Raises InputError if a file cannot be read, or if other users can read the key.
        """
        found = cls(folder.expanduser().resolve())
        for path in found.files:
            try:
                path.read_bytes()
            except OSError as error:
                fix = f"make them with 'bfsbench certificates {folder}'"
                raise InputError(f"cannot read {path}: {error.strerror or error}; {fix}") from error
        *_, key = found.files
        if key.stat().st_mode & 0o077:
            raise InputError(f"others may read {key}: chmod 600 {key}")
        return found

    def security(self) -> Security:
        """Return Dask's Security object for a scheduler, worker or client.

        Raises InputError for invalid files.
        """
        import ssl

        from distributed import Security

        ca, certificate, key = map(str, self.files)
        files: dict[str, str] = {}
        for role in ("client", "scheduler", "worker"):
            files |= {f"tls_{role}_cert": certificate, f"tls_{role}_key": key}
        made = Security(require_encryption=True, tls_ca_file=ca, **files)
        try:
            made.get_connection_args("client")
        except (ssl.SSLError, OSError) as error:
            raise InputError(f"{self.folder} does not hold certificates: {error}") from error
        return made

    def options(self) -> str:
        """Return the options that make the command 'dask scheduler' use these certificates."""
        ca, certificate, key = self.files
        return f"--protocol tls --tls-ca-file {ca} --tls-cert {certificate} --tls-key {key}"


def security_in(folder: str | None) -> Security | None:
    """Return Dask's Security object with the certificates in the folder that the option ``--tls`` names.
    Returns None if the option is not given.

    Raises InputError if a file is missing or invalid, or if other users can read the key.
    """
    return None if folder is None else Certificates.of(Path(folder)).security()


def make(folder: Path, days: int = DAYS) -> Certificates:
    """Make a folder of new certificates, which only the user can read.

    The authority's private key is never stored, so no other certificate can be signed later. Raises
    UsageError if the folder has certificates already, or if it cannot be written. Raises ToolchainError if
    the package cryptography is not installed.
    """
    if importlib.util.find_spec("cryptography") is None:
        raise ToolchainError(f"certificates need cryptography: {sys.executable} -m pip install cryptography")
    made = Certificates(folder.expanduser().resolve())
    try:
        made.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path, content in zip(made.files, _signed(days), strict=True):
            path.touch(mode=0o600, exist_ok=False)
            path.write_bytes(content)
    except FileExistsError as error:
        raise UsageError(f"{error.filename} exists: choose another folder") from error
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from error
    return made


def _signed(days: int) -> tuple[bytes, bytes, bytes]:
    """Return three texts in PEM format: an authority's certificate, a certificate that the authority has
    signed, and the key of the signed certificate.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _certificate(authority_key.public_key(), authority_key, None, days)
    certificate = _certificate(key.public_key(), authority_key, authority, days)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return authority.public_bytes(pem), certificate.public_bytes(pem), private


def _certificate(
    public: EllipticCurvePublicKey, signer: EllipticCurvePrivateKey, issuer: Certificate | None, days: int
) -> Certificate:
    """Return a certificate for a public key, signed by ``signer``.

    Without an issuer, the result is the authority's own certificate, which the authority signs itself.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    now = datetime.now(UTC)
    own = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME if issuer else f"{_NAME} authority")])
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign"), False
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(own)
        .issuer_name(issuer.subject if issuer else own)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # valid a little earlier, because clocks of hosts differ
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=issuer is not None,
                key_cert_sign=issuer is None,
                encipher_only=False,
                decipher_only=False,
                **usage,
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    return builder.sign(signer, hashes.SHA256())
